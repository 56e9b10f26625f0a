// The objects of a boat become larger ones. Whatever happens meanwhile, the store has exactly the frames that were fed.
import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import {
  compactBoat,
  type CompactionFault,
  CompactionMemory,
} from "../../../src/cloud/store/compaction/compact_boat.ts";
import { planPruning, type StoreRetention } from "../../../src/cloud/store/compaction/prune_boat.ts";
import { frameBodies } from "../../../src/cloud/store/frame_objects.ts";
import type { ListedObject } from "../../../src/cloud/store/object_list.ts";
import { frameKey } from "../../../src/cloud/store/object_names.ts";
import { JournalIndex } from "../../../src/journal/mod.ts";
import { openStore, StoreError } from "../../../src/object_store/mod.ts";
import { inFolder } from "../../support/folder.ts";
import { framesOf as framesOfBlock } from "../../support/journal_files.ts";
import { EPOCH, frameOf, journalFiles, makeWriter, seenOf } from "../../support/journal_run.ts";
import { IS_FULL, needs, rounds } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const DISK = needs({ permissions: ["read", "write"] });
const ROUNDS = rounds(12, 6);
/** Everyday every second call of a pass fails once, in full size each. */
const EVERY_CALL = IS_FULL ? 1 : 2;
const ID = "aurora";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAY_ONE_MS = Date.UTC(2026, 5, 1);
/** Frames an hour. */
const RATE = 60;

/** A boat's objects in a store with a clock of its own. */
class Bucket {
  readonly store: WrappedStore;
  readonly #folder: string;
  nowMs = DAY_ONE_MS;
  readonly memory = new CompactionMemory();
  readonly faults: CompactionFault[] = [];
  retention: StoreRetention = {};
  objectBytes: number | undefined;

  constructor(store: WrappedStore, folder: string) {
    this.store = store;
    this.#folder = folder;
    store.nowMs = () => this.nowMs;
  }

  /** Stores frames in one object each; frame n came n minutes after the beginning of day one. */
  async feed(first: number, last: number, { id = 0, blockBytes = 4096 } = {}): Promise<void> {
    const directory = await Deno.makeTempDir({ dir: this.#folder });
    const { writer } = makeWriter(directory, { blockBytes });
    for (let seq = first; seq <= last; seq++) writer.append(seq, timedFrame(seq, { id }));
    await writer.close();
    for (const name of journalFiles(directory)) {
      for await (const { bytes, ...body } of frameBodies(`${directory}/${name}`, { epoch: EPOCH })) {
        await this.store.putIfAbsent(frameKey({ id: ID, epoch: EPOCH.toHex(), ...body }), bytes);
      }
    }
  }

  /** Stores the frames of hours, in objects of ten minutes. */
  async feedHours(hours: number): Promise<void> {
    for (let first = 1; first <= hours * RATE; first += 10) {
      this.nowMs = DAY_ONE_MS + (first + 10) * 60_000;
      await this.feed(first, first + 9);
    }
  }

  compact({ memory = this.memory, store = this.store }: { memory?: CompactionMemory; store?: WrappedStore } = {}) {
    const { nowMs, retention, objectBytes } = this;
    const report = (fault: CompactionFault) => this.faults.push(fault);
    return compactBoat({ id: ID, store, memory, nowMs, retention, objectBytes, report, changed: () => {} });
  }

  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of this.store.list({ prefix: "instances/" })) keys.push(...page.map(({ key }) => key));
    return keys;
  }

  /** Numbers of the frames that a node with an empty disk reads, each compared with what was fed. */
  async numbers(): Promise<number[]> {
    const { index } = await this.open();
    return await numbersOf(index);
  }

  async open(): Promise<{ objects: BoatObjects; index: JournalIndex }> {
    const objects = new BoatObjects({ id: ID, store: this.store });
    await objects.list();
    const relist = () => objects.list().then(() => objects.files);
    const directory = await Deno.makeTempDir({ dir: this.#folder });
    const index = await JournalIndex.open(directory, { log: silentLogger, open: (path) => objects.open(path), relist });
    await index.add(objects.files);
    return { objects, index };
  }
}

function timedFrame(seq: number, { id = 0 } = {}) {
  const frame = frameOf(seq, { timeUs: (DAY_ONE_MS + seq * 60_000) * 1000 });
  return { ...frame, id: frame.id + id };
}

async function numbersOf(index: JournalIndex): Promise<number[]> {
  const seqs: number[] = [];
  for await (const block of index.blocks({ fromSeq: 1 })) {
    for (const seen of framesOfBlock(block)) {
      assert.deepEqual(seen, seenOf(seen.seq, timedFrame(seen.seq)));
      seqs.push(seen.seq);
    }
  }
  return seqs;
}

function withBucket(work: (bucket: Bucket, folder: string) => Promise<void>): () => Promise<void> {
  return () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      await work(new Bucket(new WrappedStore(disk), folder), folder);
    });
}

Deno.test(
  "objects of an hour that is over become one, those of a day that is over, too, and what they replace stays an hour",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(5);
    const fed = range(1, 5 * RATE);
    bucket.nowMs = DAY_ONE_MS + 4.5 * HOUR_MS;
    await bucket.compact();
    assert.equal((await bucket.keys()).length, 30 + 4, "the hour that goes on is not touched");
    assert.deepEqual(await bucket.numbers(), fed);
    bucket.nowMs += HOUR_MS - 1;
    await bucket.compact();
    assert.equal((await bucket.keys()).length, 30 + 5);
    bucket.nowMs += 1;
    await bucket.compact();
    assert.equal((await bucket.keys()).length, 6 + 5);
    assert.deepEqual(await bucket.numbers(), fed);
    for (
      bucket.nowMs = DAY_ONE_MS + DAY_MS;
      bucket.nowMs < DAY_ONE_MS + DAY_MS + 4 * HOUR_MS;
      bucket.nowMs += HOUR_MS
    ) {
      await bucket.compact();
      assert.deepEqual(await bucket.numbers(), fed);
    }
    assert.equal((await bucket.keys()).length, 1);
    assert.deepEqual(bucket.faults, []);
  }),
);

Deno.test(
  "a pass whose calls fail at any point, before or after they take effect, loses nothing, and the next ones end the same",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(2);
    const fed = range(1, 2 * RATE);
    let isWhole = false;
    for (let at = 0; !isWhole; at += EVERY_CALL) {
      for (const moment of ["before", "after"] as const) {
        bucket.nowMs += 2 * HOUR_MS;
        let calls = 0;
        bucket.store[moment] = () => {
          if (calls++ === at) throw new StoreError("No answer", { kind: "away" });
        };
        // A node that was killed remembers nothing.
        await bucket.compact({ memory: new CompactionMemory() }).then(() => isWhole = calls <= at, () => {});
        bucket.store[moment] = () => {};
        assert.deepEqual(await bucket.numbers(), fed, `call ${at}, ${moment}`);
      }
    }
    bucket.nowMs += DAY_MS;
    for (let pass = 0; pass < 4; pass++) {
      bucket.nowMs += 2 * HOUR_MS;
      await bucket.compact();
    }
    assert.equal((await bucket.keys()).length, 1);
    assert.deepEqual(await bucket.numbers(), fed);
    assert.deepEqual(bucket.faults, []);
  }),
);

Deno.test(
  "nodes that compact a boat at the same time, each killed now and then, lose nothing",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(4);
    const fed = range(1, 4 * RATE);
    for (let round = 0; round < ROUNDS; round++) {
      bucket.nowMs += round === ROUNDS / 2 ? DAY_MS : 1.5 * HOUR_MS;
      const memories = [new CompactionMemory(), bucket.memory, new CompactionMemory()];
      const results = await Promise.allSettled(memories.map((memory) => bucket.compact({ memory })));
      for (const result of results) {
        if (result.status === "rejected") assert.ok(result.reason instanceof StoreError, `${result.reason?.stack}`);
      }
      assert.deepEqual(await bucket.numbers(), fed, `round ${round}`);
    }
    assert.equal((await bucket.keys()).length, 1);
    assert.deepEqual(bucket.faults, []);
  }),
);

Deno.test(
  "a reader that began before objects were joined and deleted gets every frame once",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(4);
    const { index } = await bucket.open();
    bucket.nowMs += 2 * HOUR_MS;
    await bucket.compact();
    bucket.nowMs += 2 * HOUR_MS;
    await bucket.compact();
    assert.equal((await bucket.keys()).length, 4);
    assert.deepEqual(await numbersOf(index), range(1, 4 * RATE));
  }),
);

Deno.test(
  "objects that overlap with equal frames become one; with other frames all are kept, and that is reported once",
  DISK,
  withBucket(async (bucket) => {
    for (const [first, last] of [[1, 20], [15, 40], [5, 10], [41, 50]] as const) await bucket.feed(first, last);
    for (const [first, last] of [[70, 90], [80, 100]] as const) {
      await bucket.feed(first, last, { id: last === 100 ? 1 : 0 });
    }
    bucket.nowMs += DAY_MS + HOUR_MS;
    for (let pass = 0; pass < 3; pass++) {
      await bucket.compact();
      bucket.nowMs += 2 * HOUR_MS;
    }
    const keys = await bucket.keys();
    const names = keys.map((key) => key.split("/").at(-1)!.split("-").slice(0, 2).map(Number));
    assert.deepEqual(names, [[1, 50], [70, 90], [80, 100]]);
    assert.deepEqual(bucket.faults.map(({ kind, first, last }) => [kind, first, last]), [["different", 70, 100]]);
    assert.deepEqual(bucket.faults[0]?.objects.toSorted(), keys.slice(1));
  }),
);

Deno.test(
  "objects whose blocks have other sizes are joined among themselves",
  DISK,
  withBucket(async (bucket) => {
    for (let first = 1; first <= 120; first += 10) {
      await bucket.feed(first, first + 9, { blockBytes: first <= 60 ? 4096 : 8192 });
    }
    // One object has all frames of another one with blocks of another size.
    await bucket.feed(41, 50, { blockBytes: 8192 });
    bucket.nowMs += DAY_MS + HOUR_MS;
    for (let pass = 0; pass < 3; pass++) {
      await bucket.compact();
      bucket.nowMs += 2 * HOUR_MS;
      assert.deepEqual(await bucket.numbers(), range(1, 120));
    }
    assert.ok((await bucket.keys()).length <= 4);
    assert.deepEqual(bucket.faults, []);
  }),
);

Deno.test(
  "an object with the numbers of another one but other frames is never deleted",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feed(1, 40);
    await bucket.feed(11, 20, { id: 1 });
    const before = await bucket.keys();
    bucket.nowMs += DAY_MS + HOUR_MS;
    for (let pass = 0; pass < 3; pass++) {
      await bucket.compact({ memory: new CompactionMemory() });
      bucket.nowMs += 2 * HOUR_MS;
    }
    assert.deepEqual(await bucket.keys(), before);
    assert.ok(bucket.faults.every(({ kind, first, last }) => kind === "different" && first === 1 && last === 40));
    assert.equal(bucket.faults.length, 3);
  }),
);

Deno.test(
  "a damaged object stays and is reported, and the others are joined around it",
  DISK,
  withBucket(async (bucket, folder) => {
    await bucket.feedHours(1);
    const key = (await bucket.keys())[2]!;
    const path = `${folder}/store/${key}`;
    const bytes = await Deno.readFile(path);
    bytes[bytes.length >> 1]! ^= 1;
    await Deno.writeFile(path, bytes);
    bucket.nowMs += DAY_MS + HOUR_MS;
    for (let pass = 0; pass < 4; pass++) {
      await bucket.compact();
      bucket.nowMs += 2 * HOUR_MS;
    }
    assert.deepEqual(bucket.faults.map(({ kind, objects }) => [kind, objects]), [["damaged", [key]]]);
    const keys = await bucket.keys();
    assert.equal(keys.length, 3);
    assert.ok(keys.includes(key));
  }),
);

Deno.test(
  "the oldest objects beyond age and size are deleted, and a node with an empty disk does not ask for them",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(5);
    bucket.retention = { maxAgeMs: 3 * HOUR_MS };
    bucket.nowMs = DAY_ONE_MS + 5 * HOUR_MS;
    await bucket.compact();
    const numbers = await bucket.numbers();
    assert.deepEqual(numbers, range(2 * RATE + 1, 5 * RATE));
    const { objects } = await bucket.open();
    assert.deepEqual([...objects.storedOf(EPOCH.toHex())], [{ start: 1, end: 5 * RATE + 1 }]);
    bucket.nowMs += 30 * DAY_MS;
    for (let pass = 0; pass < 3; pass++) {
      await bucket.compact();
      bucket.nowMs += 2 * HOUR_MS;
    }
    assert.equal((await bucket.keys()).length, 1, "the newest object stays");
    const again = await bucket.open();
    assert.deepEqual([...again.objects.storedOf(EPOCH.toHex())], [{ start: 1, end: 5 * RATE + 1 }]);
    const markers: string[] = [];
    for await (const page of bucket.store.list({ prefix: "pruned/" })) markers.push(...page.map(({ key }) => key));
    assert.equal(markers.length, 1, "ranges that follow each other are one");
  }),
);

Deno.test("retention deletes by size the oldest first, counts the first frame's age, and keeps the newest", () => {
  const object = (hour: number, size: number): ListedObject => ({
    ...{ id: ID, epoch: EPOCH.toHex(), first: hour * 10 + 1, last: hour * 10 + 10, hash: "0".repeat(16), size },
    key: `${hour}`,
    storedMs: DAY_ONE_MS + (hour + 1) * HOUR_MS,
    time: { timeUs: (DAY_ONE_MS + hour * HOUR_MS) * 1000, blockBytes: 4096 },
  });
  const objects = [3, 0, 2, 1].map((hour) => object(hour, 100));
  const planned = (retention: StoreRetention, hours: number) =>
    planPruning({ objects, retention, nowMs: DAY_ONE_MS + hours * HOUR_MS }).map(({ key }) => key);
  assert.deepEqual(planned({}, 1000), []);
  assert.deepEqual(planned({ maxBytes: 250 }, 4), ["0", "1"]);
  assert.deepEqual(planned({ maxBytes: 1 }, 4), ["0", "1", "2"]);
  assert.deepEqual(planned({ maxAgeMs: 2 * HOUR_MS }, 4), ["0", "1"]);
  assert.deepEqual(planned({ maxAgeMs: 2 * HOUR_MS, minKeepMs: 3 * HOUR_MS }, 4), ["0"]);
  assert.deepEqual(planned({ maxAgeMs: 2 * HOUR_MS }, 1000), ["0", "1", "2"]);
});

Deno.test(
  "what compaction has replaced does not count as size, and a node's clock that runs ahead deletes nothing",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(3);
    bucket.nowMs = DAY_ONE_MS + 4 * HOUR_MS;
    await bucket.compact();
    assert.equal((await bucket.keys()).length, 18 + 3);
    const { objects } = await bucket.open();
    const bytes = objects.files.reduce((sum, { head }) => sum + (head?.bytes ?? 0), 0);
    bucket.retention = { maxBytes: bytes * 0.6, maxAgeMs: 100 * DAY_MS };
    bucket.store.nowMs = () => DAY_ONE_MS + 4 * HOUR_MS;
    bucket.nowMs += 1000 * DAY_MS;
    await bucket.compact();
    assert.deepEqual(await bucket.numbers(), range(1, 3 * RATE));
  }),
);

Deno.test(
  "objects beside a contradiction are joined",
  DISK,
  withBucket(async (bucket) => {
    await bucket.feedHours(1);
    await bucket.feed(23, 27, { id: 1 });
    await bucket.feed(28, 34, { id: 1 });
    bucket.nowMs += DAY_MS;
    for (let pass = 0; pass < 4; pass++) {
      await bucket.compact();
      bucket.nowMs += 2 * HOUR_MS;
    }
    const names = (await bucket.keys()).map((key) => key.split("/").at(-1)!.split("-").slice(0, 2).map(Number));
    assert.ok(names.some(([first, last]) => first === 1 && last === 20), JSON.stringify(names));
    assert.ok(names.some(([first, last]) => first === 41 && last === 60), JSON.stringify(names));
    for (const own of [[23, 27], [28, 34]]) {
      assert.ok(names.some(([first, last]) => first === own[0] && last === own[1]), JSON.stringify(names));
    }
  }),
);
