// A boat's frames are read from the store while files and objects are replaced, and while the store does not answer.
import assert from "node:assert/strict";
import { Logger, silentLogger } from "../../../src/base/mod.ts";
import { ObjectCache } from "../../../src/cloud/mod.ts";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import { frameBodies } from "../../../src/cloud/store/frame_objects.ts";
import { frameKey, parseFrameKey } from "../../../src/cloud/store/object_names.ts";
import { JournalIndex, openLocal, SourceUnavailableError } from "../../../src/journal/mod.ts";
import { openStore, StoreError } from "../../../src/object_store/mod.ts";
import { inFolder } from "../../support/folder.ts";
import { TestApi } from "../../support/history.ts";
import { framesOf as framesOfBlock } from "../../support/journal_files.ts";
import { appendRange, EPOCH, journalFiles, makeWriter, seenOf } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const DISK = needs({ permissions: ["read", "write"] });
const ID = "aurora";
const FRAMES = 3000;

/** A boat's files, and an index over local files and objects as a node has it. */
interface Here {
  folder: string;
  directory: string;
  store: WrappedStore;
  objects: BoatObjects;
  index: JournalIndex;
  warnings: string[];
}

/** Frames 1 to {@linkcode FRAMES} in local files, of which none is stored. */
async function withFrames(work: (here: Here) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    using disk = await openStore({ url: `file://${folder}/store` });
    const directory = `${folder}/boat`;
    await Deno.mkdir(directory);
    const { writer } = makeWriter(directory, { rotateBytes: 8192 });
    for (let seq = 1; seq <= FRAMES; seq += 500) {
      appendRange(writer, seq, seq + 499);
      await writer.sync();
    }
    await writer.close();
    const store = new WrappedStore(disk);
    const objects = new BoatObjects({ id: ID, store });
    const warnings: string[] = [];
    const log = new Logger({ format: "json", write: (line) => warnings.push(JSON.parse(line).message) });
    const open = (path: string) => path.startsWith("instances/") ? objects.open(path) : openLocal(path);
    const relist = async () => {
      await objects.list();
      return objects.files;
    };
    const index = await JournalIndex.open(directory, { log, open, relist });
    await work({ folder, directory, store, objects, index, warnings });
  });
}

/** Paths of the journal files of a directory. */
function pathsOf(directory: string): string[] {
  return journalFiles(directory).map((name) => `${directory}/${name}`);
}

/** Puts the frames of all local files into the store. */
async function storeAll({ directory, objects, index }: Here): Promise<void> {
  await objects.beginEpoch(EPOCH.toHex());
  for (const path of pathsOf(directory)) {
    const { added } = await objects.putFile(path, { epoch: EPOCH });
    await index.add(added);
  }
}

/** Deletes the local files, as a node does when their frames are stored. */
function deleteLocal({ directory, index }: Here): void {
  for (const path of pathsOf(directory)) {
    Deno.removeSync(path);
    index.noteRemoved(path, { isReplaced: true });
  }
}

/** Puts all frames into one object, as another node does, and deletes the objects that had them. */
async function replaceObjects({ folder, store }: Here): Promise<void> {
  const directory = await Deno.makeTempDir({ dir: folder });
  const { writer } = makeWriter(directory);
  appendRange(writer, 1, FRAMES);
  await writer.close();
  const before: string[] = [];
  for await (const page of store.list({ prefix: "instances/" })) before.push(...page.map(({ key }) => key));
  const [path = ""] = pathsOf(directory);
  for await (const { first, last, bytes, hash } of frameBodies(path, { epoch: EPOCH })) {
    assert.deepEqual([first, last], [1, FRAMES]);
    await store.putIfAbsent(frameKey({ id: ID, epoch: EPOCH.toHex(), first, last, hash }), bytes);
  }
  await store.delete(before);
}

/** Numbers of the frames that a reader gets; `between` is called once, after the first block. */
async function numbersRead(index: JournalIndex, between: () => Promise<void> | void = () => {}): Promise<number[]> {
  const seqs: number[] = [];
  for await (const block of index.blocks({ fromSeq: 1 })) {
    if (seqs.length === 0) await between();
    for (const seen of framesOfBlock(block)) {
      assert.deepEqual(seen, seenOf(seen.seq));
      seqs.push(seen.seq);
    }
  }
  return seqs;
}

Deno.test(
  "a reader whose files are stored and deleted meanwhile gets every frame once, in order",
  DISK,
  () =>
    withFrames(async (here) => {
      const seqs = await numbersRead(here.index, async () => {
        await storeAll(here);
        deleteLocal(here);
      });
      assert.deepEqual(seqs, range(1, FRAMES));
      assert.deepEqual(here.warnings, []);
    }),
);

Deno.test(
  "a reader whose objects are replaced by another node gets every frame once, in order",
  DISK,
  () =>
    withFrames(async (here) => {
      await storeAll(here);
      deleteLocal(here);
      const objects = () => here.index.files.length;
      assert.ok(objects() > 2);
      assert.deepEqual(await numbersRead(here.index, () => replaceObjects(here)), range(1, FRAMES));
      assert.deepEqual([here.index.damagedBlocks, here.warnings], [0, []]);
    }),
);

Deno.test(
  "an object that is listed and never found is an error after some lists, and no hole",
  DISK,
  () =>
    withFrames(async (here) => {
      await storeAll(here);
      deleteLocal(here);
      await here.objects.saveTimes();
      const [gone, ...others] = here.objects.files.map(({ path }) => path);
      let lists = 0;
      here.store.before = (call, key) => {
        if (call === "list" && key.startsWith("instances/")) lists++;
        if (call === "getRange" && key === gone) throw new StoreError(`No object ${key}`, { kind: "missing" });
      };
      assert.ok(others.length > 0);
      await assert.rejects(numbersRead(here.index), SourceUnavailableError);
      assert.ok(lists > 0 && lists <= 10, `${lists} lists`);
    }),
);

Deno.test(
  "while the store is away a reader gets an error, and nothing counts as damaged",
  DISK,
  () =>
    withFrames(async (here) => {
      await storeAll(here);
      deleteLocal(here);
      const random = new Random(3);
      for (let round = 0; round < 40; round++) {
        // A fresh index, with nothing in memory.
        const objects = new BoatObjects({ id: ID, store: here.store });
        await objects.list();
        const warnings: string[] = [];
        const log = new Logger({ write: (line) => warnings.push(line) });
        const empty = await Deno.makeTempDir({ dir: here.folder });
        const index = await JournalIndex.open(empty, { log, open: (path) => objects.open(path) });
        await index.add(objects.files);
        let reads = random.int(16);
        here.store.before = (call) => {
          if (call === "getRange" && reads-- <= 0) throw new StoreError("No answer", { kind: "away" });
        };
        const found = await numbersRead(index).catch((error: unknown) => error);
        here.store.before = () => {};
        if (reads < 0) assert.ok(found instanceof SourceUnavailableError, `round ${round}: ${found}`);
        else assert.deepEqual(found, range(1, FRAMES));
        assert.deepEqual(await numbersRead(index), range(1, FRAMES), "the next reader gets everything");
        assert.deepEqual([index.damagedBlocks, index.damage, warnings], [0, [], []]);
      }
    }),
);

Deno.test(
  "objects are opened without reading them when their times are known, also from a broken hint",
  DISK,
  () =>
    withFrames(async (here) => {
      await storeAll(here);
      const key = here.objects.files[0]!.path;
      const { epoch, hash } = parseFrameKey(key)!;
      const body = await here.store.get(key);
      for (let first = 100_000; first < 100_500; first++) {
        await here.store.putIfAbsent(frameKey({ id: ID, epoch, first, last: first, hash }), body);
      }
      const requests = async () => {
        const calls = new Map<string, number>();
        here.store.before = (call, of) => {
          const name = call === "getRange" || of.startsWith("times/") ? `${call} ${of.split("/")[0]}` : call;
          calls.set(name, (calls.get(name) ?? 0) + 1);
        };
        const objects = new BoatObjects({ id: ID, store: here.store });
        await objects.list();
        here.store.before = () => {};
        assert.equal(objects.files.filter(({ head }) => head !== undefined).length, objects.files.length);
        return calls;
      };
      const { length } = here.objects.files;
      assert.equal((await requests()).get("getRange instances"), 500 + length);
      assert.equal((await requests()).get("getRange instances"), undefined, "the first has stored them");
      for (const text of ["", "{", "[]", '{"objects":[1,["x"],[null,2,3]]}', "\u0000"]) {
        await here.store.put(`times/${ID}.json`, new TextEncoder().encode(text));
        assert.equal((await requests()).get("getRange instances"), 500 + length, text);
      }
    }),
);

Deno.test(
  "a history whose first frames the store cannot give now is answered with 503, and with all frames later",
  DISK,
  () =>
    withFrames(async (here) => {
      await storeAll(here);
      const { store } = here;
      // A node that knows where the blocks are, and has none of them in memory.
      const objects = new BoatObjects({ id: ID, store, cache: new ObjectCache({ store, maxBytes: 0 }) });
      await objects.list();
      const index = await JournalIndex.open(undefined, { log: silentLogger, open: (path) => objects.open(path) });
      await index.add(objects.files);
      await index.framesAtMost({});
      const api = new TestApi({ index });
      const path = "/history?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z";
      store.isAway = true;
      const refused = await api.fetch(path);
      assert.equal(refused.status, 503);
      await refused.body?.cancel();
      store.isAway = false;
      const frames = await api.get<{ seq: number }[]>(path);
      assert.deepEqual(frames.map(({ seq }) => seq), range(1, FRAMES));
    }),
);
