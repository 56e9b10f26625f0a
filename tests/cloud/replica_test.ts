import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { type Replica, SNAPSHOT_FILE } from "../../src/cloud/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { claim, message, product } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { anyMessage, BoatHere, crash, knowledge } from "./replica_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const MINUTE_MS = 60_000;

/** Runs a test with a boat's directory of its own. */
function withBoat(test: (boat: BoatHere) => Promise<void>): () => Promise<void> {
  return () =>
    inFolder(async (folder) => {
      const boat = await BoatHere.open(folder);
      await test(boat);
      await boat.close();
    });
}

Deno.test(
  "what devices and values there were when a replica stopped is there when it starts again",
  DISK,
  withBoat(async (boat) => {
    const random = new Random(1);
    const first = await boat.replica();
    for (let i = 0; i < 2000; i++) boat.feed(anyMessage(random, i), first);
    const before = knowledge(first.broker);
    await first.stop();
    assert.ok(before.devices.length > 20 && before.values.length > 100);
    const second = await boat.replica();
    assert.deepEqual(knowledge(second.broker), before);
    assert.match(boat.told("replica started").at(-1) ?? "", /frames=0|"frames":0/);
    await second.stop();
    assert.deepEqual(boat.told("not readable"), []);
  }),
);

Deno.test(
  "after a crash devices and values come from the journal, from what is not in its files as well",
  DISK,
  withBoat(async (boat) => {
    for (let seed = 1; seed <= 5; seed++) {
      const random = new Random(seed);
      const first = await boat.replica();
      for (let i = 0; i < 1500; i++) boat.feed(anyMessage(random, boat.head), first);
      const before = knowledge(first.broker);
      await crash(first);
      const second = await boat.replica();
      assert.deepEqual(knowledge(second.broker), before, `seed ${seed}`);
      await crash(second);
    }
  }),
);

Deno.test(
  "an older snapshot and the journal since make what there was, at whichever frame it was written",
  DISK,
  withBoat(async (boat) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = new Random(seed);
      const first = await boat.replica();
      for (let i = random.int(200); i > 0; i--) boat.feed(anyMessage(random, boat.head), first);
      await first.writeSnapshot();
      for (let i = random.int(200); i > 0; i--) boat.feed(anyMessage(random, boat.head), first);
      const before = knowledge(first.broker);
      await crash(first);
      const second = await boat.replica();
      assert.deepEqual(knowledge(second.broker), before, `seed ${seed}`);
      await crash(second);
    }
  }),
);

Deno.test(
  "whatever order of frames, holes, snapshots, stops and crashes leaves what one broker without them has",
  DISK,
  withBoat(async (boat) => {
    const random = new Random(21);
    const plain = new Broker({ buses: ["can0", "can1"] });
    let replica = await boat.replica();
    for (let round = 0; round < 60; round++) {
      for (let i = random.int(150); i > 0; i--) {
        const frame = anyMessage(random, boat.head);
        boat.feed(frame, replica);
        plain.publish(frame, boat.head);
      }
      if (random.chance(0.3)) boat.skip(random.between(1, 2000));
      if (random.chance(0.3)) await replica.writeSnapshot();
      if (random.chance(0.5)) continue;
      await (random.chance(0.5) ? replica.stop() : crash(replica));
      replica = await boat.replica({ head: replica.broker.head });
      assert.deepEqual(knowledge(replica.broker), knowledge(plain), `round ${round}`);
    }
    await replica.stop();
  }),
);

Deno.test(
  "a snapshot that is damaged, of another epoch, or of later is passed over with one line, and the journal is read",
  DISK,
  withBoat(async (boat) => {
    const random = new Random(7);
    const first = await boat.replica();
    for (let i = 0; i < 500; i++) boat.feed(anyMessage(random, i), first);
    const before = knowledge(first.broker);
    await first.stop();
    const path = `${boat.directory}/${SNAPSHOT_FILE}`;
    const good = await Deno.readTextFile(path);
    const cases: [string, string][] = [
      [good.slice(0, good.length / 2), "not readable"],
      [good.replace(boat.epoch, "ab".repeat(16)), "snapshot ignored"],
      [good.replace(/"seq":\d+/, `"seq":${boat.head + 1}`), "snapshot ignored"],
      ["", "not readable"],
    ];
    for (const [text, line] of cases) {
      await Deno.writeTextFile(path, text);
      boat.lines.length = 0;
      const second = await boat.replica();
      assert.deepEqual(knowledge(second.broker), before, line);
      assert.equal(boat.lines.length, 2, boat.lines.join("\n"));
      assert.equal(boat.told(line).length, 1);
      await crash(second);
    }
  }),
);

Deno.test(
  "where claims are out of reach, what the blocks of the journal say of devices is learned",
  DISK,
  withBoat(async (boat) => {
    const first = await boat.replica();
    boat.feed(claim(5n << 32n, { src: 1 }), first);
    boat.feed(product("AIS 650", { src: 1 }), first);
    const random = new Random(9);
    const anything = () => message({ src: 1, pgn: 129029, monoMs: boat.head, data: random.bytes(223) });
    while ((await boat.closedFiles()).length < 2) for (let i = 0; i < 20; i++) boat.feed(anything(), first);
    await crash(first);
    await Deno.remove((await boat.closedFiles())[0]!);
    const index = await JournalIndex.open(boat.directory, { log: silentLogger });
    const second = await boat.replica({ index });
    const { name, product: told, packets } = second.broker.registry.get(0, 1)!;
    assert.deepEqual([name, told?.modelId], [5n << 32n, "AIS 650"]);
    assert.ok(packets > 0 && packets < boat.head);
    await crash(second);
  }),
);

Deno.test(
  "a boat with other buses keeps what was heard on those that are still there",
  DISK,
  withBoat(async (boat) => {
    const random = new Random(11);
    const first = await boat.replica();
    for (let i = 0; i < 1000; i++) boat.feed(anyMessage(random, i), first);
    const before = Array.from(first.broker.registry, ({ bus, src }) => ({ bus, src })).filter(({ bus }) => bus === 1);
    await crash(first);
    for (const isWritten of [false, true]) {
      const second = await boat.replica({ buses: ["can1"] });
      const after = Array.from(second.broker.registry, ({ bus, src }) => ({ bus: bus + 1, src }));
      assert.deepEqual(after, before);
      if (isWritten) await second.stop();
      else await second.writeSnapshot().then(() => crash(second));
    }
  }),
);

Deno.test(
  "frames that backfill has brought change nothing of what newer ones said",
  DISK,
  withBoat(async (boat) => {
    const first = await boat.replica();
    boat.feed(claim(5n << 32n, { src: 1 }));
    boat.feed(message({ pgn: 127250, src: 1, data: [1] }));
    boat.feed(claim(5n << 32n, { src: 2, monoMs: 1 }), first);
    boat.feed(message({ pgn: 127250, src: 2, data: [2], monoMs: 2 }), first);
    const before = knowledge(first.broker);
    await first.stop();
    const second = await boat.replica();
    assert.deepEqual(knowledge(second.broker), before);
    await second.stop();
  }),
);

Deno.test(
  "sessions go on where they were, and read what came meanwhile from the journal",
  DISK,
  withBoat(async (boat) => {
    const first = await boat.replica();
    boat.feed(message({ src: 1 }), first);
    first.sessions.put("pilot", { filter: {}, timeoutMs: MINUTE_MS });
    await first.stop();
    boat.feed(message({ src: 2, monoMs: 1 }));
    const second = await boat.replica();
    boat.feed(message({ src: 3, monoMs: 2 }), second);
    const stream = second.sessions.stream("pilot", { ended: () => {} });
    const seqs: number[] = [];
    while (seqs.length < 2) await stream.read(({ seq }) => seqs.push(seq), { maxFrames: 1 });
    assert.deepEqual(seqs, [2, 3]);
    await second.stop();
  }),
);

/** Numbers that a session gives from its cursor to the replica's head. */
async function readAll(replica: Replica, session: string): Promise<number[]> {
  const seqs: number[] = [];
  const stream = replica.sessions.stream(session, { ended: () => {} });
  while (seqs.at(-1) !== replica.broker.head) await stream.read(({ seq }) => seqs.push(seq), { maxFrames: 4 });
  stream.end({ code: "stopped" });
  return seqs;
}

/** The numbers from `first` to `last`. */
function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

Deno.test(
  "who reads late gets what backfill has brought between live frames, who reads at once does not wait for it",
  DISK,
  withBoat(async (boat) => {
    const replica = await boat.replica();
    replica.sessions.put("late", { filter: {}, timeoutMs: MINUTE_MS });
    replica.sessions.put("early", { filter: {}, timeoutMs: MINUTE_MS });
    for (let i = 0; i < 10; i++) boat.feed(message({ monoMs: i }), replica);
    boat.skip(10);
    boat.feed(message({ monoMs: 20 }), replica);
    assert.deepEqual(await readAll(replica, "early"), [...numbers(1, 10), 21]);
    for (let i = 21; i < 30; i++) boat.feed(message({ monoMs: i }));
    for (let i = 30; i < 35; i++) boat.feed(message({ monoMs: i }), replica);
    assert.deepEqual(await readAll(replica, "late"), [...numbers(1, 10), ...numbers(21, 35)]);
    await replica.stop();
  }),
);

Deno.test(
  "frames that wait for subscribers when numbers are missing are delivered, not dropped",
  DISK,
  withBoat(async (boat) => {
    const replica = await boat.replica();
    const { broker } = replica;
    const seen: (string | undefined)[] = [];
    const flush = () => subscription.drain((seq) => seen.push(broker.json.of(seq)));
    const subscription = broker.subscribe({ capacity: 64, beforeClear: () => flush() });
    for (let i = 0; i < 3; i++) boat.feed(message({ monoMs: i }), replica);
    boat.skip(5);
    boat.feed(message({ monoMs: 9 }), replica);
    flush();
    assert.deepEqual(seen.map((text) => JSON.parse(text ?? "{}").seq), [1, 2, 3, 9]);
    assert.equal(subscription.hasDropped, false);
    await replica.stop();
  }),
);

Deno.test(
  "a device goes when the boat has talked for too long without it, not while the boat is silent",
  DISK,
  withBoat(async (boat) => {
    const replica = await boat.replica();
    const sources = () => Array.from(replica.broker.registry, ({ src }) => src);
    boat.feed(message({ src: 1, monoMs: 0 }), replica);
    boat.feed(message({ src: 2, monoMs: 1000 }), replica);
    boat.clock.advance(60 * MINUTE_MS);
    replica.runHousekeeping();
    assert.deepEqual(sources(), [1, 2]);
    // The boat was off for a day.
    const backMs = 24 * 60 * MINUTE_MS;
    boat.feed(message({ src: 2, monoMs: backMs }), replica);
    replica.runHousekeeping();
    assert.deepEqual(sources(), [1, 2]);
    for (let ms = 0; ms <= 4 * MINUTE_MS; ms += 1000) boat.feed(message({ src: 2, monoMs: backMs + ms }), replica);
    replica.runHousekeeping();
    assert.deepEqual(sources(), [2]);
    await replica.stop();
  }),
);

Deno.test(
  "how long a device has been silent survives a restart",
  DISK,
  withBoat(async (boat) => {
    const first = await boat.replica();
    boat.feed(message({ src: 1, monoMs: 0 }), first);
    for (let ms = 0; ms <= 3 * MINUTE_MS; ms += 1000) boat.feed(message({ src: 2, monoMs: ms }), first);
    await first.stop();
    const second = await boat.replica();
    for (let ms = 3 * MINUTE_MS; ms <= 6 * MINUTE_MS; ms += 1000) {
      second.runHousekeeping();
      assert.equal(second.broker.registry.size, ms <= 5 * MINUTE_MS + 1000 ? 2 : 1, `${ms} ms`);
      boat.feed(message({ src: 2, monoMs: ms }), second);
    }
    await second.stop();
  }),
);

Deno.test(
  "a replica is idle since it was fed, held, or streamed from last",
  DISK,
  withBoat(async (boat) => {
    const { clock } = boat;
    const replica = await boat.replica();
    clock.advance(10);
    assert.equal(replica.idleMs(clock.monoMs()), 10);
    boat.feed(message(), replica);
    assert.equal(replica.idleMs(clock.monoMs()), 0);
    const letGo = replica.hold();
    const other = replica.hold();
    clock.advance(10);
    letGo();
    letGo();
    assert.equal(replica.idleMs(clock.monoMs()), 0);
    clock.advance(10);
    assert.equal(replica.idleMs(clock.monoMs()), 0);
    other();
    clock.advance(10);
    assert.equal(replica.idleMs(clock.monoMs()), 10);
    replica.sessions.put("pilot", { filter: {}, timeoutMs: MINUTE_MS });
    const stream = replica.sessions.stream("pilot", { ended: () => {} });
    clock.advance(10);
    assert.equal(replica.idleMs(clock.monoMs()), 0);
    stream.end({ code: "stopped" });
    clock.advance(10);
    assert.equal(replica.idleMs(clock.monoMs()), 10);
    await replica.stop();
  }),
);

Deno.test(
  "in a new epoch devices and values are forgotten, numbers begin again, and sessions are told",
  DISK,
  withBoat(async (boat) => {
    const replica = await boat.replica();
    boat.feed(claim(5n << 32n, { src: 1 }), replica);
    boat.feed(message({ src: 1, monoMs: 1 }), replica);
    replica.sessions.put("pilot", { filter: {}, timeoutMs: MINUTE_MS });
    const ends: string[] = [];
    replica.sessions.stream("pilot", { ended: ({ code }) => ends.push(code) });
    assert.throws(() => replica.newEpoch("cd".repeat(16), ["can7"]), RangeError);
    replica.newEpoch("cd".repeat(16), ["can0", "can1"]);
    assert.deepEqual(knowledge(replica.broker), { devices: [], values: [] });
    assert.deepEqual([replica.epoch, replica.broker.head, ends], ["cd".repeat(16), 0, ["new_epoch"]]);
    replica.publish(1, message({ src: 4 }));
    assert.equal(replica.broker.head, 1);
    await replica.stop();
    const again = await boat.replica({ epoch: "cd".repeat(16), head: 1 });
    assert.deepEqual(Array.from(again.broker.registry, ({ src }) => src), [4]);
    await again.stop();
  }),
);

Deno.test(
  "what a boat repeats of its devices is learned and counted as nothing",
  DISK,
  withBoat(async (boat) => {
    const replica = await boat.replica();
    boat.feed(message({ src: 1 }), replica);
    replica.introduce(claim(5n << 32n, { src: 1 }));
    replica.introduce(product("AIS 650", { src: 1 }));
    replica.introduce(claim(6n << 32n, { src: 2 }));
    replica.introduce(message({ src: 3 }));
    const devices = Array.from(replica.broker.registry, ({ src, name, product, packets }) => ({
      ...{ src, name, packets },
      model: product?.modelId,
    }));
    assert.deepEqual(devices, [
      { src: 1, name: 5n << 32n, packets: 1, model: "AIS 650" },
      { src: 2, name: 6n << 32n, packets: 0, model: undefined },
    ]);
    assert.deepEqual([replica.broker.head, replica.broker.values.size], [1, 1]);
    await replica.stop();
  }),
);

Deno.test(
  "a stopped replica takes nothing more, and its memory is the pool's",
  DISK,
  withBoat(async (boat) => {
    const replica = await boat.replica();
    for (let i = 0; i < 100; i++) boat.feed(message({ monoMs: i }), replica);
    let heads = 0;
    replica.onStop(() => heads = replica.broker.ring.size);
    await Promise.all([replica.stop(), replica.stop()]);
    assert.equal(heads, 100);
    assert.ok(boat.pool.bytes > 16_384);
    const before = knowledge(replica.broker);
    replica.publish(101, message({ src: 9 }));
    replica.introduce(claim(5n << 32n, { src: 9 }));
    assert.deepEqual(knowledge(replica.broker), before);
  }),
);
