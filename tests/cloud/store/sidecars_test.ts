// Series of a boat whose frames are in the object store, from sidecars on the local disk of a node.
import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { ObjectCache, SidecarCache } from "../../../src/cloud/mod.ts";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import { epochOfFile } from "../../../src/cloud/store/frame_objects.ts";
import type { Message } from "../../../src/frame/mod.ts";
import { JournalIndex } from "../../../src/journal/mod.ts";
import { openStore } from "../../../src/object_store/mod.ts";
import { inFolder } from "../../support/folder.ts";
import { TestApi, TestJournal } from "../../support/history.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { COARSE, openRollup, sidecars, WHOLE } from "../../support/rollup.ts";
import { BUSES, checkRandomly, known, RECORDING, sensorTraffic } from "../../support/series.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const DISK = needs({ permissions: ["read", "write"] });
const ID = "aurora";
const FILES = 3;

interface Here {
  /** Of the sidecars. */
  folder: string;
  messages: Message[];
  store: WrappedStore;
  /** An index over objects alone, as of a node that has just started. */
  openIndex: () => Promise<JournalIndex>;
}

/** Hours of messages in three objects. */
async function withObjects(work: (here: Here) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const messages = sensorTraffic(new Random(7), { count: FILES * 800, everyMs: 6000 });
    const local = `${folder}/local`;
    Deno.mkdirSync(local);
    {
      await using journal = await TestJournal.open(local, RECORDING);
      for (let from = 0; from < messages.length; from += 800) {
        if (from > 0) await journal.writer.rotate();
        journal.append(1 + from, messages.slice(from, from + 800));
      }
    }
    using disk = await openStore({ url: `file://${folder}/store` });
    const store = new WrappedStore(disk);
    const objects = new BoatObjects({ id: ID, store });
    const { files } = await JournalIndex.open(local, { log: silentLogger });
    for (const { path, epochWord } of files) {
      const epoch = await epochOfFile(path, { epochWord, epochs: [] });
      const { isWhole } = await objects.putFile(path, { epoch: Uint8Array.fromHex(epoch) });
      assert.ok(isWhole);
    }
    const openIndex = async () => {
      const fresh = new BoatObjects({ id: ID, store, cache: new ObjectCache({ store }) });
      await fresh.list();
      const index = await JournalIndex.open(undefined, { log: silentLogger, open: (path) => fresh.open(path) });
      await index.add(fresh.files);
      return index;
    };
    await work({ folder: `${folder}/sidecars`, messages, store, openIndex });
  });
}

/** Counts the parts of objects that are read. */
function countReads(store: WrappedStore): { reads: number } {
  const counted = { reads: 0 };
  store.before = (call) => {
    if (call === "getRange") counted.reads++;
  };
  return counted;
}

Deno.test(
  "series of objects are right at the first request, and after it read no frames, also after a restart",
  DISK,
  () =>
    withObjects(async ({ folder, messages, store, openIndex }) => {
      const options = { directory: folder, maxBytes: 2 ** 30, minFileBytes: 0 };
      {
        const index = await openIndex();
        const rollup = openRollup(index, { outside: await SidecarCache.open(options) });
        const limited = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: 1 } });
        assert.equal((await limited.fetch(WHOLE)).status, 503, "what is being made is there later");
        const api = new TestApi({ index, rollup, buses: BUSES });
        await checkRandomly(api, known(messages), { seed: 1, rounds: 2, buses: BUSES, points: COARSE });
        await rollup.caughtUp();
        await checkRandomly(api, known(messages), { seed: 2, rounds: 2, buses: BUSES, points: COARSE });
        await limited.get(WHOLE);
        await rollup.stop();
      }
      assert.equal(sidecars(folder).length, FILES);
      const index = await openIndex();
      const rollup = openRollup(index, { outside: await SidecarCache.open(options) });
      const counted = countReads(store);
      const limited = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: 1 } });
      await limited.get(WHOLE);
      assert.equal(counted.reads, 0);
      await rollup.stop();
    }),
);

Deno.test(
  "nothing is made before a request, nor of small objects",
  DISK,
  () =>
    withObjects(async ({ folder, store, openIndex }) => {
      const index = await openIndex();
      const counted = countReads(store);
      const outside = await SidecarCache.open({ directory: folder, maxBytes: 2 ** 30, minFileBytes: 2 ** 30 });
      const rollup = openRollup(index, { outside });
      await rollup.caughtUp();
      assert.equal(counted.reads, 0);
      await new TestApi({ index, rollup, buses: BUSES }).get(WHOLE);
      await rollup.caughtUp();
      assert.ok(counted.reads > 0);
      assert.deepEqual(sidecars(folder), []);
      await rollup.stop();
    }),
);

Deno.test(
  "sidecars of objects take no more room than they may, and what was deleted for that is made again",
  DISK,
  () =>
    withObjects(async ({ folder, messages, openIndex }) => {
      const index = await openIndex();
      const sizes = () => sidecars(folder).map((path) => Deno.statSync(path).size);
      const fill = async (maxBytes: number) => {
        const rollup = openRollup(index, {
          outside: await SidecarCache.open({ directory: folder, maxBytes, minFileBytes: 0 }),
        });
        const api = new TestApi({ index, rollup, buses: BUSES });
        for (const seed of [3, 4]) {
          await checkRandomly(api, known(messages), { seed, rounds: 2, buses: BUSES, points: COARSE });
          await api.get(WHOLE);
          await rollup.caughtUp();
          assert.ok(sizes().reduce((sum, size) => sum + size, 0) <= maxBytes);
        }
        await rollup.stop();
      };
      await fill(2 ** 30);
      assert.equal(sizes().length, FILES);
      const [largest = 0] = sizes().sort((a, b) => b - a);
      await fill(2 * largest);
      assert.ok(sizes().length > 0 && sizes().length < FILES);
    }),
);
