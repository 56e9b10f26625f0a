// A boat whose start fails.
import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { type Boat, startBoat } from "../../src/boat/boat.ts";
import { LoopbackBus } from "../../src/can/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { SessionClient } from "../support/session.ts";

const FILES = needs({ permissions: ["read", "write", "net"] });
const HOST = "127.0.0.1";

/** Every file below a folder with its content. */
async function contentOf(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (!isDirectory) found.set(path, (await Deno.readFile(path)).toHex());
    else for (const [inner, content] of await contentOf(path)) found.set(inner, content);
  }
  return found;
}

async function boatIn(folder: string, { port = 0, lines = [] }: { port?: number; lines?: string[] } = {}) {
  const log = new Logger({ level: "debug", format: "text", write: (line) => void lines.push(line) });
  const [directory, stateDirectory] = [`${folder}/journal`, `${folder}/state`];
  return await TestBoat.start({ port, log, journal: { directory, stateDirectory }, stateDirectory });
}

Deno.test(
  "a start that fails because its port is taken changes no file and logs no new epoch",
  FILES,
  () =>
    inFolder(async (folder) => {
      await Deno.mkdir(`${folder}/journal`);
      await Deno.mkdir(`${folder}/state`);
      using other = Deno.listen({ hostname: HOST, port: 0 });
      for (const state of ["empty", "of a run"]) {
        const before = await contentOf(folder);
        const lines: string[] = [];
        await assert.rejects(boatIn(folder, { port: other.addr.port, lines }), { name: "ListenError" });
        assert.deepEqual(await contentOf(folder), before, state);
        assert.deepEqual(lines, [], state);
        if (state !== "empty") continue;
        await using boat = await boatIn(folder);
        boat.say();
        await eventually("the frame", () => boat.boat.broker.head === 1);
        await new SessionClient(boat.url).put();
      }
    }),
);

/** A bus that opens, or fails to, when the test says so. */
class SlowBus extends LoopbackBus {
  readonly opening = Promise.withResolvers<void>();

  override async open(...options: Parameters<LoopbackBus["open"]>): Promise<void> {
    await this.opening.promise;
    return await super.open(...options);
  }
}

/** Starts a boat on a port, and asks it for its devices before it has started. */
async function askEarly(port: number): Promise<{ bus: SlowBus; start: Promise<Boat>; reply: Promise<Response> }> {
  const bus = new SlowBus("can0");
  const start = startBoat({ buses: [bus], listen: { hostname: HOST, port }, discovery: false });
  start.catch(() => {});
  const connection = await eventually("the port", () => Deno.connect({ hostname: HOST, port }).catch(() => undefined));
  connection.close();
  const reply = fetch(`http://${HOST}:${port}/devices`);
  reply.catch(() => {});
  return { bus, start, reply };
}

Deno.test(
  "a request during the start waits for its end, and a start that fails gives the port back",
  FILES,
  async () => {
    using held = HeldPort.take();
    const failing = await askEarly(held.port);
    failing.bus.opening.reject(new Error("No such device"));
    await assert.rejects(failing.start, /No such device/);
    // The connection may have been closed before it was accepted.
    const status = await failing.reply.then((reply) => reply.status, () => undefined);
    assert.ok(status === undefined || status === 503, `${status}`);
    const good = await askEarly(held.port);
    good.bus.opening.resolve();
    const boat = await good.start;
    const reply = await good.reply;
    assert.deepEqual([reply.status, await reply.json()], [200, []]);
    await boat.stop();
  },
);
