// A large object is not read as a whole by one who wants a part of it.
import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { ObjectCache } from "../../../src/cloud/mod.ts";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import { blocksKey } from "../../../src/cloud/store/object_names.ts";
import { JournalIndex } from "../../../src/journal/mod.ts";
import { openStore, StoreError } from "../../../src/object_store/mod.ts";
import { inFolder } from "../../support/folder.ts";
import { framesOf } from "../../support/journal_files.ts";
import { EPOCH, frameOf, journalFiles, makeWriter } from "../../support/journal_run.ts";
import { START_US } from "../../support/messages.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const DISK = needs({ permissions: ["read", "write"] });
const ID = "aurora";
const FRAMES = 25_000;
/** A frame a second. */
const timeOf = (seq: number) => START_US + seq * 1_000_000;
/** What is asked for. */
const [FROM, TO] = [12_000, 12_100];
const PART_BYTES = 1024 * 1024;

interface Here {
  folder: string;
  store: WrappedStore;
  /** Key of the only object, of several megabytes. */
  key: string;
  size: number;
  /** Numbers that a node with an empty memory reads, and in how many requests for parts of the object. */
  read: (from: number, to: number) => Promise<{ seqs: number[]; parts: number; damage: readonly string[] }>;
}

async function withObject(work: (here: Here) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const directory = `${folder}/local`;
    await Deno.mkdir(directory);
    const { writer } = makeWriter(directory, { blockBytes: 65_536 });
    const random = new Random(5);
    for (let seq = 1; seq <= FRAMES; seq++) {
      writer.append(seq, { ...frameOf(seq, { timeUs: timeOf(seq) }), data: random.bytes(223), length: 223 });
      if (seq % 2000 === 0) await writer.sync();
    }
    await writer.close();
    using disk = await openStore({ url: `file://${folder}/store` });
    const store = new WrappedStore(disk);
    const objects = new BoatObjects({ id: ID, store });
    const { added: [object, ...others] } = await objects.putFile(`${directory}/${journalFiles(directory)[0]}`, {
      epoch: EPOCH,
    });
    assert.ok(object && others.length === 0);
    const { size } = (await store.head(object.path))!;
    assert.ok(size > 3 * PART_BYTES, `${size} bytes`);
    const read = async (from: number, to: number) => {
      const fresh = new BoatObjects({ id: ID, store, cache: new ObjectCache({ store }) });
      await fresh.list();
      const index = await JournalIndex.open(undefined, { log: silentLogger, open: (path) => fresh.open(path) });
      await index.add(fresh.files);
      let parts = 0;
      const before = store.before;
      store.before = async (call, key) => {
        if (call === "getRange") parts++;
        await before(call, key);
      };
      const seqs: number[] = [];
      const range = { fromUs: timeOf(from), toUs: timeOf(to) };
      for await (const block of index.blocks(range)) seqs.push(...framesOf(block).map(({ seq }) => seq));
      store.before = before;
      return { seqs: seqs.filter((seq) => seq >= from && seq <= to), parts, damage: index.damage };
    };
    await work({ folder, store, key: object.path, size, read });
  });
}

Deno.test(
  "a part of a large object is found without reading the rest",
  DISK,
  () =>
    withObject(async ({ read }) => {
      const { seqs, parts, damage } = await read(FROM, TO);
      assert.deepEqual([seqs, damage], [range(FROM, TO), []]);
      assert.ok(parts <= 2, `${parts} parts`);
      assert.equal((await read(1, FRAMES)).seqs.length, FRAMES);
    }),
);

Deno.test(
  "without the locations of its blocks, or with wrong ones, an object is read itself, with the same frames",
  DISK,
  () =>
    withObject(async ({ store, key, size, read }) => {
      const good = await store.get(blocksKey(key));
      const wrong: [what: string, bytes: Uint8Array][] = [
        ["cut", good.slice(0, good.length - 5)],
        ["empty", new Uint8Array()],
        ["of an object of another size", numbersOf(good, (numbers) => numbers[1] = size + 1)],
        ["of another version", numbersOf(good, (numbers) => numbers[0] = 2)],
        ["beyond the end", numbersOf(good, (numbers) => numbers[numbers.length - 4] = size)],
        ["in disorder", numbersOf(good, (numbers) => numbers[2] = size / 2)],
      ];
      for (const [what, bytes] of wrong) {
        await store.put(blocksKey(key), bytes);
        const { seqs, parts, damage } = await read(FROM, TO);
        assert.deepEqual([seqs, damage], [range(FROM, TO), []], what);
        assert.ok(parts > 4, what);
      }
      await store.delete([blocksKey(key)]);
      assert.deepEqual((await read(FROM, TO)).seqs, range(FROM, TO));
    }),
);

Deno.test(
  "while the store does not answer, the frames of an object are unavailable, not missing",
  DISK,
  () =>
    withObject(async ({ store, read }) => {
      store.before = (call, key) => {
        if (call === "get" && key.startsWith("blocks/")) throw new StoreError("away", { kind: "away" });
      };
      await assert.rejects(read(1, 10), { name: "SourceUnavailableError" });
    }),
);

function numbersOf(bytes: Uint8Array, change: (numbers: Float64Array) => void): Uint8Array {
  const numbers = new Float64Array(bytes.slice().buffer);
  change(numbers);
  return new Uint8Array(numbers.buffer);
}
