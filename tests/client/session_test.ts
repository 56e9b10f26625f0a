import assert from "node:assert/strict";
import {
  connect,
  FallenBehindError,
  SessionDeletedError,
  type SessionOptions,
  SupersededError,
} from "../../src/client/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { accessToken } from "../support/sending.ts";
import { range, seqs } from "../support/session.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { Reader } from "./reader.ts";
import { say } from "./say.ts";
import { messages, record } from "../support/replay.ts";
import { TestSimulation } from "../support/simulation.ts";

const NET = needs({ permissions: ["net"] });
const DISK = needs({ permissions: ["net", "read", "write"] });
/** Tries that follow each other quickly. */
const SOON = { firstMs: 1, capMs: 20 };
const KEPT = { bufferTimeout: "PT5M" };
const OFTEN = { ...KEPT, ackIntervalMs: 5 };

Deno.test("a session is made, read from its cursor, and looked at; what it is made with is told", NET, async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  const session = connect(boat.url).session("log", { bufferTimeout: "90m", filter: { bus: ["can1"] }, decode: true });
  boat.claim(5, { manufacturerCode: 229 });
  await eventually("the claim", () => boat.boat.broker.head === 1);
  const { client_id, seq, cursor, buffer_timeout, devices } = await session.put();
  assert.deepEqual([client_id, seq, cursor, buffer_timeout], ["log", 1, 2, "PT1H30M"]);
  assert.deepEqual(devices.map(({ manufacturer }) => manufacturer), ["Garmin"]);
  await say(boat, 1);
  boat.say({ bus: 1, data: [9, 0, 0xab, 0xcd, 1, 2, 3, 0xfd] });
  const reader = new Reader(session.events());
  const [frame] = await reader.atLeast(1);
  assert.deepEqual([frame?.seq, frame?.bus, frame?.decoded?.sid], [3, "can1", 9]);
  const { filter, streaming, slot } = await session.state();
  assert.deepEqual({ filter, streaming, slot }, { filter: { bus: ["can1"] }, streaming: true, slot: false });
  await reader.leave();
  await eventually("the stream to end", async () => !(await session.state()).streaming);
});

Deno.test("a frame is acknowledged after the next one was asked for, and never before", NET, async () => {
  await using boat = await TestBoat.start();
  const session = connect(boat.url).session("log", OFTEN);
  await session.put();
  await say(boat, 5);
  const frames = session[Symbol.asyncIterator]();
  for (let seq = 1; seq <= 4; seq++) {
    assert.equal((await frames.next()).value?.seq, seq);
    await eventually("what was taken to be acknowledged", async () => (await session.state()).cursor === seq);
    await pause(3 * OFTEN.ackIntervalMs);
    assert.equal((await session.state()).cursor, seq, "the frame that we have is not");
  }
  await frames.return();
  assert.equal((await session.state()).cursor, 4);
});

Deno.test(
  "leaving keeps the place; the frame in hand comes again, unless it is acknowledged by hand",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    const session = connect(boat.url).session("log", KEPT);
    await session.put();
    await say(boat, 9);
    const take = async (count: number, left: (seq: number) => Promise<void> = () => Promise.resolve()) => {
      const seen: number[] = [];
      for await (const { seq } of session) {
        seen.push(seq);
        if (seen.length < count) continue;
        await left(seq);
        break;
      }
      return seen;
    };
    assert.deepEqual(await take(3), [1, 2, 3]);
    assert.deepEqual(await take(3, (seq) => session.ack(seq)), [3, 4, 5]);
    assert.deepEqual(await take(2), [6, 7]);
    await session.delete();
    await assert.rejects(session.state(), { name: "ApiError", status: 404 });
  },
);

Deno.test("with acknowledgement by hand nothing else acknowledges", NET, async () => {
  await using boat = await TestBoat.start();
  const session = connect(boat.url).session("log", { ...OFTEN, ack: "manual" });
  await session.put();
  await say(boat, 4);
  const reader = new Reader(session.events());
  await reader.atLeast(4);
  await session.ack(2);
  await reader.leave();
  assert.equal((await session.state()).cursor, 3);
});

for (const seed of [1, 2, 3]) {
  Deno.test(`over connections cut at random each frame comes once and in order, seed ${seed}`, NET, async () => {
    const random = new Random(seed);
    await using boat = await TestBoat.start();
    await using proxy = await TcpProxy.start(boat.boat.address.port);
    const client = connect(`http://127.0.0.1:${proxy.port}`, { retry: SOON });
    const reader = new Reader(client.session("log", OFTEN).events());
    await reader.connections(1);
    for (let round = 0; round < 30; round++) {
      for (let said = random.int(40); said > 0; said--) boat.say();
      if (random.chance(0.5)) await reader.atLeast(random.int(boat.boat.broker.head + 1));
      if (random.chance(0.8)) proxy.cut(random.pick(["fin", "rst"]));
      await pause(random.int(4));
    }
    await say(boat, 1);
    const { head } = boat.boat.broker;
    await eventually("the last frame", () => reader.frames.at(-1)?.seq === head);
    assert.deepEqual(seqs(reader.frames), range(1, head));
    assert.ok(reader.told("connected").length > 1);
    assert.deepEqual([reader.told("missed"), reader.told("new_epoch")], [[], []]);
    await reader.leave();
  });
}

Deno.test("a dead network for a while costs nothing but time", NET, async () => {
  await using boat = await TestBoat.start();
  await using proxy = await TcpProxy.start(boat.boat.address.port);
  const client = connect(`http://127.0.0.1:${proxy.port}`, { retry: SOON, silenceMs: 300, timeoutMs: 300 });
  const reader = new Reader(client.session("log", OFTEN).events());
  await reader.connections(1);
  await say(boat, 10);
  await reader.atLeast(10);
  proxy.mode = "swallow";
  await say(boat, 10);
  await eventually("the loss to be told", () => reader.told("disconnected").length > 1);
  proxy.mode = "pass";
  assert.deepEqual(seqs(await reader.atLeast(20)), range(1, 20));
  await reader.leave();
});

/** A boat that is started again and again on one port, with a journal. */
async function overRestarts(
  folder: string,
  runs: ((boat: TestBoat) => Promise<void>)[],
  { between, ...options }: TestBoatOptions & { between?: () => Promise<void> } = {},
): Promise<void> {
  const journal = { directory: `${folder}/journal`, stateDirectory: folder, blockBytes: 4096 };
  using held = HeldPort.take();
  const { port } = held;
  for (const [index, run] of runs.entries()) {
    if (index > 0) await between?.();
    await using boat = await TestBoat.start({ stateDirectory: folder, ringFrames: 64, journal, port, ...options });
    await run(boat);
  }
}

Deno.test("over restarts of the server each frame comes once and in order", DISK, () =>
  inFolder(async (folder) => {
    let reader: Reader | undefined;
    const run = async (boat: TestBoat) => {
      reader ??= new Reader(connect(boat.url, { retry: SOON }).session("log", OFTEN).events());
      const count = reader.told("connected").length;
      if (count === 0) await reader.connections(1);
      await say(boat, 200);
      // Some of them come after the restart.
      await reader.atLeast(boat.boat.broker.head - 180);
    };
    const last = async (boat: TestBoat) => {
      await say(boat, 1);
      await eventually("the last frame", () => reader?.frames.at(-1)?.seq === boat.boat.broker.head);
      await reader?.leave();
    };
    await overRestarts(folder, [run, run, run, run, last]);
    assert.equal(reader?.frames.length, 801);
    assert.deepEqual(seqs(reader.frames), seqs(reader.frames).toSorted((a, b) => a - b));
    assert.deepEqual(reader.events.filter(({ type }) => !/^(dis)?connected|frame$/.test(type)), []);
  }));

Deno.test(
  "another run of this program goes on behind what the one before has taken",
  DISK,
  () =>
    inFolder(async (folder) => {
      const got: number[] = [];
      const run = async (boat: TestBoat) => {
        const reader = new Reader(connect(boat.url, { retry: SOON }).session("log", KEPT).events());
        await reader.connections(1);
        await say(boat, 50);
        await eventually("the last frame", () => reader.frames.at(-1)?.seq === boat.boat.broker.head);
        got.push(...seqs(reader.frames));
        await reader.leave();
      };
      await overRestarts(folder, [run, run]);
      assert.deepEqual(got, range(1, 100));
    }),
);

Deno.test(
  "when numbers begin again that is told once, and every new frame comes",
  DISK,
  () =>
    inFolder(async (folder) => {
      for (const [name, count] of [["fewer", 20], ["more", 400]] as const) {
        let reader: Reader | undefined;
        await overRestarts(`${folder}/${name}`, [
          async (boat) => {
            reader = new Reader(connect(boat.url, { retry: SOON }).session("log", OFTEN).events());
            await reader.connections(1);
            await say(boat, 100);
            await reader.atLeast(100);
          },
          async (boat) => {
            await say(boat, count);
            assert.deepEqual(seqs((await reader?.atLeast(100 + count))?.slice(100) ?? []), range(1, count));
            await reader?.leave();
          },
        ], { between: () => Deno.remove(`${folder}/${name}/head.json`) });
        assert.deepEqual([reader?.told("new_epoch").length, reader?.told("missed")], [1, []]);
      }
    }),
);

Deno.test("a session that expired while we were away is made anew, and the numbers missed are told", NET, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  await using proxy = await TcpProxy.start(boat.boat.address.port);
  const client = connect(`http://127.0.0.1:${proxy.port}`, { retry: SOON, timeoutMs: 300, silenceMs: 300 });
  const reader = new Reader(client.session("log", { ...OFTEN, bufferTimeout: "PT1M" }).events());
  await reader.connections(1);
  await say(boat, 5);
  await reader.atLeast(5);
  proxy.mode = "swallow";
  await eventually("the loss", () => reader.told("disconnected").length > 0);
  const direct = connect(boat.url).session("log");
  proxy.cut("rst");
  await eventually("the server to know", async () => !(await direct.state()).streaming);
  await say(boat, 4);
  clock.advance(60_000);
  await assert.rejects(direct.state(), { status: 404 });
  const before = reader.told("connected").length;
  proxy.mode = "pass";
  await reader.connections(before + 1);
  await say(boat, 1);
  assert.deepEqual(seqs(await reader.atLeast(6)), [...range(1, 5), 10]);
  assert.deepEqual(reader.told("missed"), [{ type: "missed", fromSeq: 6, toSeq: 9, why: "expired" }]);
  await reader.leave();
});

Deno.test(
  "a session that has fallen behind throws, before and while it is read, and an acknowledgement heals it",
  NET,
  async () => {
    await using boat = await TestBoat.start({ ringFrames: 1024 });
    const session = connect(boat.url).session("log", KEPT);
    const { cursor } = await session.put();
    assert.equal(cursor, 1);
    const oldestSeq = 2001 - 1023;
    const frames = session[Symbol.asyncIterator]();
    const first = frames.next();
    await eventually("the stream", async () => (await session.state()).streaming);
    await say(boat, 1);
    assert.equal((await first).value?.seq, 1);
    boat.flood(2000, 8);
    const behind = (fromSeq: number) => (error: unknown) => {
      assert.ok(error instanceof FallenBehindError);
      assert.deepEqual([error.session, error.fromSeq, error.oldestSeq], ["log", fromSeq, oldestSeq]);
      return true;
    };
    await assert.rejects(frames.next(), behind(2));
    await assert.rejects(session[Symbol.asyncIterator]().next(), behind(2));
    await session.ack(oldestSeq - 1);
    const reader = new Reader(session.events());
    assert.deepEqual(seqs(await reader.atLeast(1024)), range(oldestSeq, 2001));
    await reader.leave();
  },
);

Deno.test("a session that may skip goes on with the oldest frame there is, and tells the numbers", NET, async () => {
  await using boat = await TestBoat.start({ ringFrames: 1024 });
  const session = connect(boat.url).session("log", { ...KEPT, fallenBehind: "skip" });
  await session.put();
  boat.flood(2000, 8);
  const reader = new Reader(session.events());
  const oldest = 2000 - 1023;
  assert.deepEqual(seqs(await reader.atLeast(1024)), range(oldest, 2000));
  assert.deepEqual(reader.told("missed"), [{ type: "missed", fromSeq: 1, toSeq: oldest - 1, why: "fallen_behind" }]);
  await reader.leave();
  assert.deepEqual((await session.state()).cursor, 2001);
});

Deno.test("who is superseded is told, and leaves the place to the other", NET, async () => {
  await using boat = await TestBoat.start();
  const [one, other] = [1, 2].map(() => connect(boat.url, { retry: SOON }).session("log", KEPT));
  const first = new Reader(one!.events());
  await first.connections(1);
  await say(boat, 2);
  await first.atLeast(2);
  const second = new Reader(other!.events());
  await assert.rejects(first.ended, (error: unknown) => error instanceof SupersededError && error.session === "log");
  assert.deepEqual(seqs(await second.atLeast(2)), [1, 2]);
  await other!.delete();
  await assert.rejects(second.ended, SessionDeletedError);
});

Deno.test(
  "a signal ends the reading with its reason, and what was taken is acknowledged all the same",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    for (const which of ["own", "client"]) {
      const abort = new AbortController();
      const { signal } = abort;
      const client = connect(boat.url, which === "client" ? { signal } : {});
      const reader = new Reader(client.session(which, { ...KEPT, ...(which === "own" && { signal }) }).events());
      await reader.connections(1);
      const before = boat.boat.broker.head;
      await say(boat, 3);
      await reader.atLeast(3);
      abort.abort(new Error("enough"));
      await assert.rejects(reader.ended, { message: "enough" });
      assert.equal((await connect(boat.url).session(which).state()).cursor, before + 4);
    }
  },
);

Deno.test("options that are undefined are their defaults: frames are acknowledged", NET, async () => {
  await using boat = await TestBoat.start();
  const options: SessionOptions = { ...KEPT };
  for (const name of ["ack", "ackIntervalMs", "fallenBehind", "filter", "decode"]) {
    Reflect.set(options, name, undefined);
  }
  const reader = new Reader(connect(boat.url).session("log", options).events());
  await reader.connections(1);
  await say(boat, 3);
  await reader.atLeast(3);
  await reader.leave();
  assert.equal((await connect(boat.url).session("log").state()).cursor, 4);
});

Deno.test("a token that is taken away ends the reading at the next acknowledgement", NET, async () => {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "secret", ["read"])] });
  const reader = new Reader(connect(boat.url, { token: "secret" }).session("log", OFTEN).events());
  await reader.connections(1);
  boat.boat.reload({ tokens: [accessToken("reader", "other", ["read"])] });
  await say(boat, 1);
  await assert.rejects(reader.ended, { name: "ApiError", status: 401 });
  assert.deepEqual(seqs(reader.frames), [1]);
});

Deno.test("a slot is read without being made; a session that is not there is a 404", NET, async () => {
  const slots = [{ id: "slot", timeoutMs: 60_000, filter: { pgn: [127250] } }];
  await using boat = await TestBoat.start({ slots });
  const client = connect(boat.url, { retry: SOON });
  await say(boat, 3);
  const reader = new Reader(client.session("slot", { ackIntervalMs: 5 }).events());
  assert.deepEqual(seqs(await reader.atLeast(3)), range(1, 3));
  await reader.leave();
  assert.deepEqual((await client.session("slot").state()).filter, { pgn: [127250] });
  await assert.rejects(client.session("nobody")[Symbol.asyncIterator]().next(), { name: "ApiError", status: 404 });
  await assert.rejects(client.session("no id", KEPT).put(), { name: "ApiError", status: 400 });
});

Deno.test(
  "a slot of a simulation gives the recording from its first frame, in each run the same",
  DISK,
  () =>
    inFolder(async (folder) => {
      const files = [await record(folder, { messages: messages(2000, { everyMs: 0.1 }) })];
      const slots = [{ id: "slot", timeoutMs: 60_000, filter: {} }];
      const runs: unknown[] = [];
      for (let run = 0; run < 2; run++) {
        await using server = await TestSimulation.start({ files, slots, ringFrames: 64 });
        const reader = new Reader(connect(server.url).session("slot").events());
        const frames = await reader.atLeast(2000);
        assert.deepEqual(seqs(frames), range(1, 2000));
        runs.push(frames);
        await reader.leave();
      }
      assert.deepEqual(runs[0], runs[1]);
    }),
);
