import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { FallenBehindError, FrameCursor, FrameSource } from "../../src/stream/mod.ts";
import type { BlockMetadata } from "../../src/journal/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";
import { MemoryArchive } from "./memory_archive.ts";

const MANY = { maxFrames: 1000 };

/** A broker whose frames are recorded, or not. */
class Boat {
  readonly archive = new MemoryArchive();
  broker: Broker;
  source: FrameSource;
  readonly #ringFrames: number;

  constructor({ ringFrames = 16, records = true, firstSeq = 1 } = {}) {
    this.#ringFrames = ringFrames;
    this.broker = new Broker({ buses: ["can0"], ringFrames, firstSeq });
    this.source = new FrameSource(this.broker, { archive: records ? this.archive : undefined });
  }

  publish(count: number, { recorded = true, src = 1, notes = {} as BlockMetadata } = {}): void {
    for (let i = 0; i < count; i++) {
      const seq = this.broker.head + 1;
      const frame = message({ src, data: [seq & 0xff, seq >> 8], timeUs: seq });
      this.broker.publish(frame);
      if (recorded) this.archive.append(seq, frame, notes);
    }
  }

  /** Starts anew behind numbers that are skipped. */
  restart(skipped = 0): void {
    this.archive.seal();
    this.broker = new Broker({
      buses: ["can0"],
      ringFrames: this.#ringFrames,
      firstSeq: this.broker.head + skipped + 1,
    });
    this.source = new FrameSource(this.broker, { archive: this.source.archive && this.archive });
  }
}

async function read(cursor: FrameCursor, limits = MANY): Promise<number[]> {
  const seqs: number[] = [];
  await cursor.read(({ seq, data, offset, timeUs }) => {
    assert.equal(data[offset]! + data[offset + 1]! * 256, seq & 0xffff, "the payload is this frame's");
    assert.equal(timeUs, seq);
    seqs.push(seq);
  }, limits);
  return seqs;
}

/** Reads until it has come to the head. */
async function readAll(cursor: FrameCursor, head: number): Promise<number[]> {
  const seqs: number[] = [];
  while (cursor.nextSeq <= head) seqs.push(...await read(cursor));
  return seqs;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

Deno.test("a cursor reads the archive, then the ring, then live, each frame once", async () => {
  const boat = new Boat();
  boat.publish(700);
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 3 });
  assert.deepEqual(await readAll(cursor, 700), range(3, 700));
  const waiting = read(cursor);
  await pause();
  boat.publish(2);
  assert.deepEqual(await waiting, [701, 702]);
  cursor.close();
  assert.equal(boat.archive.counts.opened, boat.archive.counts.closed);
});

Deno.test("a cursor that begins in front of the head waits for its number", async () => {
  const boat = new Boat({ records: false });
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 3 });
  const waiting = read(cursor);
  boat.publish(2);
  await pause(10);
  boat.publish(1);
  assert.deepEqual(await waiting, [3]);
  cursor.close();
});

Deno.test("a read takes no more than it may, in frames and in bytes", async () => {
  for (const ringFrames of [16, 1024]) {
    const boat = new Boat({ ringFrames });
    boat.publish(500);
    const cursor = new FrameCursor({ source: boat.source, fromSeq: 1 });
    assert.deepEqual(await read(cursor, { maxFrames: 5 }), range(1, 5));
    const seqs: number[] = [];
    await cursor.read(({ seq }) => seqs.push(seq), { maxFrames: 100, maxBytes: 7 });
    assert.deepEqual(seqs, range(6, 9), "two bytes each, and the one that crosses the limit");
    assert.equal(cursor.nextSeq, 10);
    cursor.close();
  }
});

Deno.test("what the filter does not want is passed over, near and far", async () => {
  const boat = new Boat();
  for (let i = 0; i < 300; i++) boat.publish(1, { src: i % 3 });
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 1, accept: (_bus, src) => src === 2 });
  const seqs = await readAll(cursor, 300);
  assert.deepEqual(seqs, range(1, 300).filter((seq) => seq % 3 === 0));
  const waiting = read(cursor);
  boat.publish(3, { src: 1 });
  await pause(10);
  boat.publish(1, { src: 2 });
  assert.deepEqual(await waiting, [304]);
  cursor.close();
});

Deno.test("numbers that never were, skipped at a start or by the source, are passed over", async () => {
  const boat = new Boat();
  boat.publish(300);
  boat.restart(2 ** 20);
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 290 });
  const first = 300 + 2 ** 20 + 1;
  assert.deepEqual(await readAll(cursor, 300), range(290, 300));
  boat.publish(40);
  assert.deepEqual(await readAll(cursor, boat.broker.head), range(first, first + 39));
  boat.broker.publish(
    message({ timeUs: first + 5000, data: [(first + 5000) & 0xff, (first + 5000) >> 8] }),
    first + 5000,
  );
  assert.deepEqual(await read(cursor), [first + 5000]);
  cursor.close();
  const again = new FrameCursor({ source: boat.source, fromSeq: 299 });
  boat.archive.append(
    first + 5000,
    message({ timeUs: first + 5000, data: [(first + 5000) & 0xff, (first + 5000) >> 8] }),
  );
  assert.deepEqual(await readAll(again, boat.broker.head), [299, 300, ...range(first, first + 39), first + 5000]);
  again.close();
});

Deno.test("who wants frames that are gone from the ring, without an archive, has fallen behind", async () => {
  const boat = new Boat({ records: false });
  boat.publish(20);
  assert.deepEqual([boat.source.hasFallenBehind(4), boat.source.hasFallenBehind(5), boat.source.oldestSeq], [
    true,
    false,
    5,
  ]);
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 4 });
  await assert.rejects(read(cursor), (error) => {
    assert.ok(error instanceof FallenBehindError);
    assert.deepEqual([error.name, error.oldestSeq], ["ErrFallenBehind", 5]);
    return true;
  });
  assert.deepEqual(await read(new FrameCursor({ source: boat.source, fromSeq: 5 })), range(5, 20));
});

Deno.test("who wants frames that the archive has let go has fallen behind", async () => {
  const boat = new Boat();
  boat.publish(1500);
  boat.archive.evict();
  const oldest = boat.archive.oldestSeq!;
  assert.ok(oldest > 1 && oldest < 1400);
  await assert.rejects(read(new FrameCursor({ source: boat.source, fromSeq: oldest - 1 })), { oldestSeq: oldest });
  const cursor = new FrameCursor({ source: boat.source, fromSeq: oldest });
  assert.deepEqual(await readAll(cursor, 1500), range(oldest, 1500));
});

Deno.test("frames that the archive never got are told when the ring has let them go, and reading goes on", async () => {
  const boat = new Boat();
  boat.publish(10);
  boat.publish(30, { recorded: false });
  const told: unknown[] = [];
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 1, missing: (frames) => told.push(frames) });
  assert.deepEqual(await read(cursor), range(1, 10));
  assert.deepEqual(await read(cursor), range(25, 40));
  boat.publish(40, { recorded: false });
  boat.archive.seal();
  boat.publish(30, { notes: { gap: { firstMissing: 11, reason: "disk" } } });
  assert.deepEqual(await readAll(cursor, 110), range(81, 110));
  assert.deepEqual(told, [{ fromSeq: 11, toSeq: 24, mayExist: true }, { fromSeq: 41, toSeq: 80 }], "each once");
});

Deno.test("what an archive does not give is not there where it takes no frames, and reading goes on", async () => {
  const boat = new Boat();
  boat.publish(10);
  boat.archive.isRecording = false;
  boat.publish(30, { recorded: false });
  const told: unknown[] = [];
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 1, missing: (frames) => told.push(frames) });
  assert.deepEqual(await readAll(cursor, 40), [...range(1, 10), ...range(25, 40)]);
  assert.deepEqual(told, [{ fromSeq: 11, toSeq: 24, mayExist: false }]);
});

Deno.test("frames that were lost on their way to the disk are told, numbers skipped at a start apart from them", async () => {
  const boat = new Boat();
  boat.publish(10);
  boat.publish(10, { recorded: false });
  boat.archive.seal();
  boat.publish(1, { notes: { gap: { firstMissing: 11, reason: "disk" } } });
  boat.restart(5);
  boat.publish(40, { notes: { gap: { firstMissing: 22, reason: "restart" } } });
  const told: unknown[] = [];
  const unclean: unknown[] = [];
  const cursor = new FrameCursor({
    source: boat.source,
    fromSeq: 1,
    missing: (frames) => told.push(frames),
    unclean: (frames) => unclean.push(frames),
  });
  assert.deepEqual(await readAll(cursor, boat.broker.head), [...range(1, 10), 21, ...range(27, 66)]);
  assert.deepEqual(told, [{ fromSeq: 11, toSeq: 20 }]);
  assert.deepEqual(unclean, [{ fromSeq: 22, toSeq: 26, reason: "restart" }]);
});

Deno.test("a block that cannot be read to its end is told, and what follows is read", async () => {
  const boat = new Boat();
  boat.publish(100);
  boat.archive.seal();
  boat.archive.damage();
  boat.publish(100);
  const told: { fromSeq: number; toSeq: number }[] = [];
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 1, missing: (frames) => told.push(frames) });
  const seqs = await readAll(cursor, 200);
  assert.deepEqual(seqs.slice(-100), range(101, 200));
  assert.deepEqual(told.map(({ toSeq }) => toSeq), [100]);
  assert.deepEqual(seqs.slice(0, -100), range(1, told[0]!.fromSeq - 1));
});

Deno.test("frames that the archive had and does not give are told, and may be there all the same", async () => {
  const boat = new Boat();
  for (let block = 0; block < 4; block++) {
    boat.publish(100);
    boat.archive.seal();
  }
  boat.restart(5);
  boat.publish(40, { notes: { gap: { firstMissing: 401, reason: "restart" } } });
  boat.archive.lose(3);
  boat.archive.lose(1);
  const told: unknown[] = [];
  const cursor = new FrameCursor({ source: boat.source, fromSeq: 1, missing: (frames) => told.push(frames) });
  assert.deepEqual(await readAll(cursor, boat.broker.head), [...range(1, 100), ...range(201, 300), ...range(406, 445)]);
  assert.deepEqual(told, [
    { fromSeq: 101, toSeq: 200, mayExist: true },
    { fromSeq: 301, toSeq: 400, mayExist: true },
  ]);
});

Deno.test("closing ends a read that waits, and lets the archive go in the middle of a block", async () => {
  const boat = new Boat();
  const waiting = new FrameCursor({ source: boat.source, fromSeq: 1 });
  const end = waiting.read(() => {}, MANY);
  await pause();
  waiting.close();
  assert.equal(await end, 0);
  assert.equal(await waiting.read(() => {}, MANY), 0);
  boat.publish(500);
  const reading = new FrameCursor({ source: boat.source, fromSeq: 1 });
  await read(reading, { maxFrames: 3 });
  reading.close();
  await eventually("the archive to be let go", () => boat.archive.counts.closed === boat.archive.counts.opened);
});

Deno.test("nobody who waits costs the broker nothing, and all who wait are woken together", async () => {
  const boat = new Boat({ records: false });
  const cursors = Array.from({ length: 50 }, () => new FrameCursor({ source: boat.source, fromSeq: 1 }));
  const reads = cursors.map((cursor) => read(cursor));
  await pause();
  boat.publish(3);
  for (const seqs of await Promise.all(reads)) assert.deepEqual(seqs, [1, 2, 3]);
  for (const cursor of cursors) cursor.close();
});

/** What one reader has had, against all that was published. */
class Model {
  readonly boat = new Boat({ ringFrames: 32 });
  readonly existing: number[] = [];
  next = 1;
  cursor = new FrameCursor({ source: this.boat.source, fromSeq: 1 });
  fallen = 0;
  read = 0;

  publish(count: number, recorded: boolean): void {
    const before = this.boat.broker.head;
    this.boat.publish(count, { recorded });
    this.existing.push(...range(before + 1, before + count));
  }

  restart(skipped: number): void {
    this.cursor.close();
    this.boat.restart(skipped);
    this.cursor = new FrameCursor({ source: this.boat.source, fromSeq: this.next });
  }

  async readSome(maxFrames: number): Promise<void> {
    const ahead = this.existing.filter((seq) => seq >= this.next);
    if (ahead.length === 0) return;
    try {
      const seqs = await read(this.cursor, { maxFrames });
      assert.deepEqual(seqs, ahead.slice(0, seqs.length));
      this.next = seqs.at(-1)! + 1;
      this.read += seqs.length;
    } catch (error) {
      assert.ok(error instanceof FallenBehindError);
      // What was skipped in front of the oldest frame kept cannot be told from what is gone.
      const mayBeAll = ahead[0]! > this.next;
      assert.ok(error.oldestSeq > ahead[0]! || mayBeAll && error.oldestSeq === ahead[0], "nothing kept is given up");
      this.fallen++;
      this.next = error.oldestSeq;
      this.cursor.close();
      this.cursor = new FrameCursor({ source: this.boat.source, fromSeq: this.next });
    }
  }
}

Deno.test("any order of publishing, reading, forgetting and restarting gives every frame once, or says that it is gone", async () => {
  const totals = { read: 0, fallen: 0, restarts: 0 };
  for (let seed = 1; seed <= 30; seed++) {
    const random = new Random(seed);
    const model = new Model();
    for (let step = 0; step < 60; step++) {
      const choice = random.int(10);
      if (choice < 4) model.publish(random.between(1, 120), true);
      else if (choice < 8) await model.readSome(random.between(1, 150));
      else if (choice === 8) random.chance(0.3) ? model.boat.archive.evict() : model.boat.archive.seal();
      else if (random.chance(0.5)) {
        model.restart(random.pick([0, 1, 50, 5000]));
        totals.restarts++;
      }
    }
    while (model.existing.some((seq) => seq >= model.next)) await model.readSome(1000);
    model.cursor.close();
    totals.read += model.read;
    totals.fallen += model.fallen;
  }
  assert.ok(totals.read > 30_000 && totals.fallen > 5 && totals.restarts > 50, JSON.stringify(totals));
});
