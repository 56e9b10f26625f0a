// All attacks at once, on a boat with two busy buses: recording comes first.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { environment, needs } from "../support/needs.ts";
import { pause } from "../support/eventually.ts";
import { sendRaw } from "../support/raw_http.ts";
import { type Target, underAttack } from "./attack.ts";

const NEEDS = needs({
  permissions: ["env", "net", "read", "run", "write"],
  others: { Linux: Deno.build.os === "linux" },
});
const IS_FULL = environment("VBG_TEST_FULL") === "1";
const TIME_MS = IS_FULL ? 60_000 : 3000;
const HALF_OPEN = IS_FULL ? 400 : 100;
/** Connections of one address that have not finished their first header are limited. */
const ATTACKER_ADDRESS = "127.0.0.9";
const DEAF_STREAMS = IS_FULL ? 900 : 50;
/** Requests of each other kind that are under way at the same time. */
const AT_ONCE = IS_FULL ? 4 : 2;
/** An attacker waits that long between two requests. */
const REST_MS = 10;
/** About the longest body that is taken: 62 KB, none of it a filter. */
const BAD_BODY = JSON.stringify({
  buffer_timeout: "PT1M",
  filter: { pgn: Array.from({ length: 9000 }, (_, i) => `x${i % 10}`) },
});
const LONG_FILTER = { pgn: Array.from({ length: 256 }, (_, i) => 126_000 + i) };
/** No claim about speed: only that the server answers. */
const GENEROUS_MS = 30_000;

/** Asks again and again until the attack ends; whatever is answered is read and forgotten. */
async function repeat({ signal }: Target, ask: (round: number) => Promise<Response>): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    try {
      const { body } = await ask(round);
      for await (const _ of body ?? []) if (signal.aborted) break;
    } catch {
      // Refused, or the attack has ended.
    }
    await pause(REST_MS);
  }
}

/** Connections that never end their first header, from an address of their own; one that is closed is made again. */
async function halfOpen({ hostname: host, port, stack, signal }: Target): Promise<void> {
  const open = new Set<Socket>();
  stack.defer(() => open.forEach((socket) => socket.destroy()));
  while (!signal.aborted) {
    while (open.size < HALF_OPEN) {
      const socket = connect({ host, port, localAddress: ATTACKER_ADDRESS });
      open.add(socket);
      socket.on("connect", () => socket.write("GET /values HTTP/1.1\r\nHost: bo"));
      socket.on("error", () => {});
      socket.on("close", () => open.delete(socket));
    }
    await pause(100);
  }
}

async function deafStreams({ url, stack, signal }: Target): Promise<void> {
  for (let i = 0; i < DEAF_STREAMS && !signal.aborted; i++) stack.use(await sendRaw(`${url}/events`));
}

/** Everything that one request does, in all the ways at once. */
async function allAttacks(target: Target): Promise<void> {
  const { url, signal } = target;
  const put = (path: string, body: string) => fetch(`${url}${path}`, { method: "PUT", body, signal });
  const session = JSON.stringify({ buffer_timeout: "P7D", filter: LONG_FILTER });
  const since = new Date(Date.now() - 60_000).toISOString();
  const kinds: ((round: number) => Promise<Response>)[] = [
    (round) => put(`/clients/attacker-${round % 1000}`, session),
    (round) => put(`/clients/attacker-${round % 1000}/ack`, JSON.stringify({ seq: round })),
    () => put("/clients/bad", BAD_BODY),
    () => fetch(`${url}/history?from=${since}&limit=1000000&decode=true`, { signal }),
    () => fetch(`${url}/values/decoded`, { signal }),
  ];
  const rounds = kinds.flatMap((ask) => Array.from({ length: AT_ONCE }, () => repeat(target, ask)));
  await Promise.all([halfOpen(target), deafStreams(target), ...rounds]);
}

Deno.test(
  "a boat with two busy buses records every frame while it is attacked in all ways at once",
  NEEDS,
  async () => {
    const attacks = IS_FULL ? [() => {}, allAttacks] : [allAttacks];
    for (const attack of attacks) {
      const load = { buses: 2, framesPerSecond: 1000, timeMs: TIME_MS, isApart: IS_FULL };
      const { log, ...report } = await underAttack({ ...load, attack });
      const { fed, recorded, duplicated, misnumbered, samples, livezFailed, livezMaxMs, exitCode } = report;
      // deno-lint-ignore no-console -- figures of the run at full size
      if (IS_FULL) console.log(JSON.stringify({ attack: attack.name || "none", ...report }));
      assert.ok(fed > 0);
      assert.deepEqual([recorded, duplicated, misnumbered, exitCode], [fed, 0, 0, 0], log);
      assert.ok(samples > 0 && livezFailed === 0 && livezMaxMs < GENEROUS_MS, `${livezFailed}, ${livezMaxMs} ms`);
    }
  },
);
