import assert from "node:assert/strict";
import { environment, needs } from "../support/needs.ts";
import { sendRaw } from "../support/raw_http.ts";
import { type Target, underAttack } from "./attack.ts";

const NEEDS = needs({
  permissions: ["env", "net", "read", "run", "write"],
  others: { Linux: Deno.build.os === "linux" },
});
const IS_FULL = environment("VBG_TEST_FULL") === "1";
const TIME_MS = IS_FULL ? 60_000 : 3000;
const HALF_OPEN = 200;
const DEAF_STREAMS = 50;
/** No claim about speed: only that the server answers, and does not grow without bound. */
const GENEROUS_MS = 30_000;
const GENEROUS_MB = 1024;

/** Connections that begin a request and never end it, and streams that nobody reads. */
async function halfOpenAndDeaf({ url, hostname, port, stack }: Target): Promise<void> {
  for (let i = 0; i < HALF_OPEN; i++) {
    const connection = stack.use(await Deno.connect({ hostname, port }));
    await connection.write(new TextEncoder().encode("GET /values HTTP/1.1\r\nHost: bo"));
  }
  for (let i = 0; i < DEAF_STREAMS; i++) stack.use(await sendRaw(`${url}/events`));
}

Deno.test(
  "a boat under 200 half-open connections and 50 streams that do not read records every frame",
  NEEDS,
  async () => {
    const { log, ...report } = await underAttack({ timeMs: TIME_MS, attack: halfOpenAndDeaf });
    const { fed, recorded, duplicated, misnumbered, samples, livezFailed, livezMaxMs, rssMaxMb, exitCode } = report;
    if (IS_FULL) console.log(report);
    assert.ok(fed > 0);
    assert.deepEqual([recorded, duplicated, misnumbered, exitCode], [fed, 0, 0, 0], log);
    assert.ok(
      samples > 0 && livezFailed === 0 && livezMaxMs < GENEROUS_MS,
      `${samples}, ${livezFailed}, ${livezMaxMs} ms`,
    );
    assert.ok(rssMaxMb > 0 && rssMaxMb < GENEROUS_MB, `${rssMaxMb} MB`);
  },
);
