import assert from "node:assert/strict";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import { frameKey, parseFrameKey } from "../../../src/cloud/store/object_names.ts";
import { type BlockRange, JournalIndex, openLocal } from "../../../src/journal/mod.ts";
import { type ObjectStore, openStore } from "../../../src/object_store/mod.ts";
import { silentLogger } from "../../../src/base/mod.ts";
import { newStoredFrame } from "../../../src/frame/mod.ts";
import { inFolder } from "../../support/folder.ts";
import { EPOCH, frameOf, journalFiles, makeWriter } from "../../support/journal_run.ts";
import { START_US } from "../../support/messages.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const DISK = needs({ permissions: ["read", "write"] });
const ID = "aurora";

/** Writes a journal with gaps, some of them filled later by files of a backfill. Returns the numbers that it has. */
async function writeJournal(directory: string, random: Random): Promise<number[]> {
  const { writer } = makeWriter(directory, { rotateBytes: 8192 });
  const seqs: number[] = [];
  for (let seq = 1; seqs.length < 4000; seq += random.int(50) === 0 ? 1 + random.int(300) : 1) {
    writer.append(seq, frameOf(seq));
    seqs.push(seq);
    if (seqs.length % 500 === 0) await writer.sync();
  }
  await writer.close();
  return seqs;
}

/** An index over the objects of a boat alone, as a node with an empty disk has it. */
async function indexOf(store: ObjectStore, folder: string): Promise<{ objects: BoatObjects; index: JournalIndex }> {
  const objects = new BoatObjects({ id: ID, store });
  await objects.list();
  const empty = await Deno.makeTempDir({ dir: folder });
  const open = (path: string) => path.startsWith("instances/") ? objects.open(path) : openLocal(path);
  const index = await JournalIndex.open(empty, { log: silentLogger, open });
  await index.add(objects.files);
  return { objects, index };
}

async function framesOf(index: JournalIndex, range: BlockRange): Promise<{ seq: number; timeUs: number }[]> {
  const found: { seq: number; timeUs: number }[] = [];
  const frame = newStoredFrame();
  for await (const block of index.blocks(range)) {
    for (const frames = block.frames(); frames.next(frame);) {
      const { seq, timeUs, id, data, offset, length } = frame;
      const expected = frameOf(seq);
      const payload = expected.data.subarray(expected.offset, expected.offset + expected.length);
      const isSame = id === expected.id && data.subarray(offset, offset + length).toHex() === payload.toHex();
      assert.ok(isSame, `frame ${seq}`);
      found.push({ seq, timeUs });
    }
  }
  return found;
}

Deno.test("a key names boat, epoch, first and last number, and sorts by number", () => {
  const object = { id: ID, epoch: EPOCH.toHex(), first: 9, last: 1000, hash: "0123456789abcdef" };
  assert.deepEqual(parseFrameKey(frameKey(object)), object);
  assert.ok(frameKey(object) < frameKey({ ...object, first: 10 }));
  for (
    const other of ["instances/a/b/1-2-3.lpj", "epochs/1", `${frameKey(object)}/x`, frameKey({ ...object, last: 8 })]
  ) {
    assert.equal(parseFrameKey(other), undefined, other);
  }
});

Deno.test(
  "what is stored of a journal is read from the store alone, frame by frame, by number and by time",
  DISK,
  () =>
    inFolder(async (folder) => {
      const random = new Random(3);
      const [journal, root] = [`${folder}/journal`, `${folder}/store`];
      await Deno.mkdir(journal);
      const seqs = await writeJournal(journal, random);
      using store = await openStore({ url: `file://${root}` });
      const writer = new BoatObjects({ id: ID, store });
      for (const name of journalFiles(journal)) await writer.putFile(`${journal}/${name}`, { epoch: EPOCH });
      const stored = writer.storedOf(EPOCH.toHex());
      assert.deepEqual([...stored].flatMap(({ start, end }) => range(start, end)), seqs);
      // Stored again, as after a crash before it was noted: nothing is added.
      const again = new BoatObjects({ id: ID, store });
      for (const name of journalFiles(journal)) await again.putFile(`${journal}/${name}`, { epoch: EPOCH });
      const { objects, index } = await indexOf(store, folder);
      assert.deepEqual(objects.files, writer.files);
      assert.deepEqual([...objects.storedOf(EPOCH.toHex())], [...stored]);
      assert.deepEqual((await framesOf(index, {})).map(({ seq }) => seq), seqs);
      for (let i = 0; i < 10; i++) {
        const fromSeq = random.int(seqs.at(-1)!);
        const bySeq = (await framesOf(index, { fromSeq })).map(({ seq }) => seq);
        assert.deepEqual(bySeq.filter((seq) => seq >= fromSeq), seqs.filter((seq) => seq >= fromSeq));
        const [fromUs, toUs] = [START_US + fromSeq * 1000, START_US + (fromSeq + random.int(500)) * 1000];
        const isIn = ({ timeUs }: { timeUs: number }) => timeUs >= fromUs && timeUs <= toUs;
        const byTime = (await framesOf(index, { fromUs, toUs })).filter(isIn);
        assert.deepEqual(byTime.map(({ seq }) => seq), seqs.filter((seq) => isIn({ timeUs: START_US + seq * 1000 })));
      }
    }),
);

Deno.test(
  "an object that is there with fewer bytes, or is not there though the store says so, is not stored",
  DISK,
  () =>
    inFolder(async (folder) => {
      await Deno.mkdir(`${folder}/journal`);
      await writeJournal(`${folder}/journal`, new Random(3));
      const [path] = journalFiles(`${folder}/journal`).map((name) => `${folder}/journal/${name}`);
      using whole = await openStore({ url: `file://${folder}/whole` });
      const writer = new BoatObjects({ id: ID, store: whole });
      await writer.putFile(path!, { epoch: EPOCH });
      const { path: key, lastSeq } = writer.files[0]!;
      using torn = await openStore({ url: `file://${folder}/torn` });
      const bytes = await whole.get(key);
      await torn.putIfAbsent(key, bytes.subarray(0, bytes.length / 2));
      const ofTorn = new BoatObjects({ id: ID, store: torn });
      const found = `there are ${Math.floor(bytes.length / 2)} bytes instead of ${bytes.length}`;
      await assert.rejects(ofTorn.putFile(path!, { epoch: EPOCH }), new RegExp(`"${key}" is damaged.*: ${found}`));
      assert.equal(ofTorn.storedOf(EPOCH.toHex()).has(lastSeq), false);
      using empty = await openStore({ url: `file://${folder}/empty` });
      const lying = new WrappedStore(empty);
      lying.putIfAbsent = () => Promise.resolve("exists");
      const ofLying = new BoatObjects({ id: ID, store: lying });
      await assert.rejects(ofLying.putFile(path!, { epoch: EPOCH }), /: there are no bytes instead of \d+/);
      assert.equal(ofLying.storedOf(EPOCH.toHex()).count, 0);
    }),
);

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, i) => start + i);
}
