import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import { type FrameStore, ObjectCache } from "../../../src/cloud/mod.ts";
import { JournalIndex } from "../../../src/journal/mod.ts";
import { type ObjectStore, openStore } from "../../../src/object_store/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { journalFiles } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";
import { wireBlock } from "../block_check_fixture.ts";
import { batch, BOAT, CloudFixture, framesOfIndex, wanted } from "../cloud_fixture.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

/** A store whose answers to new objects wait while it is held. */
function held(
  inner: ObjectStore,
): { store: ObjectStore; hold: () => void; release: () => void; waiting: () => number } {
  let gate = Promise.withResolvers<void>();
  let waiting = 0;
  gate.resolve();
  const store = new WrappedStore(inner);
  store.after = async (call) => {
    if (call !== "putIfAbsent") return;
    waiting++;
    await gate.promise;
    waiting--;
  };
  return {
    store,
    hold: () => gate = Promise.withResolvers(),
    release: () => gate.resolve(),
    waiting: () => waiting,
  };
}

function storeOf(store: ObjectStore): FrameStore {
  return { store, cache: new ObjectCache({ store }) };
}

/** All frames that the store has of the boat. */
async function framesOf(store: ObjectStore, folder: string) {
  const objects = new BoatObjects({ id: BOAT, store });
  await objects.list();
  const directory = await Deno.makeTempDir({ dir: folder });
  const index = await JournalIndex.open(directory, { log: silentLogger, open: (path) => objects.open(path) });
  await index.add(objects.files);
  return await framesOfIndex(index);
}

Deno.test(
  "stored_through moves after the store has answered, and not before",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      const { store, hold, release, waiting } = held(disk);
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore: storeOf(store) });
      const { client, response } = await cloud.greeted();
      assert.equal(response.storedThrough, 0);
      const live = client.live();
      hold();
      await live.send(batch(1, 500));
      await eventually("all to be durable", () => cloud.boat.acknowledge() === 500);
      assert.equal(cloud.boat.record.storedThrough(), 0);
      release();
      await cloud.boat.ship();
      assert.equal(cloud.boat.record.storedThrough(), 500);
      hold();
      await live.send(batch(501, 700));
      await eventually("all to be durable", () => cloud.boat.acknowledge() === 700);
      const shipping = cloud.boat.ship();
      await eventually("an answer that is held", () => waiting() >= 1);
      assert.equal(cloud.boat.record.storedThrough(), 500);
      release();
      await shipping;
      assert.equal(cloud.boat.record.storedThrough(), 700);
      assert.deepEqual(await framesOf(disk, folder), range(1, 700).map(wanted));
      live.end();
    }),
);

Deno.test(
  "live frames are stored without a file, and readers find them in the store",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      const store = new WrappedStore(disk);
      const frameStore = storeOf(store);
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      const live = (await cloud.greeted()).client.live();
      for (const [first, last] of [[1, 20], [21, 40], [41, 60]] as const) {
        await live.send(batch(first, last));
        await eventually("all to be durable", () => cloud.boat.acknowledge() === last);
        await cloud.boat.ship();
        assert.deepEqual(journalFiles(`${folder}/data/${BOAT}`), []);
        assert.equal(cloud.boat.record.storedThrough(), last);
        assert.deepEqual(await framesOf(store, folder), range(1, last).map(wanted));
      }
      await cloud.boat.withFiles(async (files) => {
        await files.findMissing();
        files.findUnheld();
      });
      assert.deepEqual([cloud.boat.record.counters.vanishedFrames, cloud.boat.record.holes], [0, []]);
      live.end();
    }),
);

Deno.test(
  "live frames that the store does not take at once go into a file, and are stored with it",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      const store = new WrappedStore(disk);
      const frameStore = storeOf(store);
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      const live = (await cloud.greeted()).client.live();
      await live.send(batch(1, 300));
      await eventually("all to be durable", () => cloud.boat.acknowledge() === 300);
      store.isAway = true;
      await assert.rejects(cloud.boat.ship(), /Cannot reach the store of the test/);
      assert.equal(journalFiles(`${folder}/data/${BOAT}`).length, 1);
      assert.ok(cloud.boat.record.storedThrough()! < 300);
      store.isAway = false;
      await cloud.boat.ship();
      assert.equal(cloud.boat.record.storedThrough(), 300);
      assert.deepEqual(await framesOf(store, folder), range(1, 300).map(wanted));
      live.end();
    }),
);

Deno.test(
  "a node with an empty disk knows what the store has of each boat, asks for the rest, and stores that, too",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using store = await openStore({ url: `file://${folder}/store` });
      const frameStore = storeOf(store);
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore });
        const { client } = await cloud.greeted({ headSeq: 200 });
        const live = client.live();
        await live.send(batch(200, 500));
        const backfill = client.backfill();
        await backfill.send({ block: wireBlock({ firstSeq: 51, frames: 100 }) });
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 301 + 100);
        await cloud.boat.ship();
        await live.send(batch(501, 600));
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 301 + 200);
        live.end();
        backfill.end();
      }
      await Deno.remove(`${folder}/one`, { recursive: true });
      await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore });
      assert.deepEqual([...cloud.instances].map(({ id }) => id), [BOAT]);
      const { client, response } = await cloud.greeted({ headSeq: 700 });
      const { holes, liveStartFrom, known, storedThrough } = response;
      assert.deepEqual({ holes, liveStartFrom, known, storedThrough }, {
        holes: [[1, 51], [151, 200], [501, 700]].map(([start, end]) => ({ start, end })),
        liveStartFrom: 700,
        known: true,
        storedThrough: 0,
      });
      const backfill = client.backfill();
      for (const [first, count] of [[1, 50], [151, 49], [501, 199]] as const) {
        await backfill.send({ block: wireBlock({ firstSeq: first, frames: count }) });
      }
      const live = client.live();
      await live.send(batch(700, 800));
      await eventually("all to be durable", () => cloud.boat.acknowledge() === 800);
      await cloud.boat.ship();
      assert.equal(cloud.boat.record.storedThrough(), 800);
      assert.deepEqual(await framesOf(store, folder), range(1, 800).map(wanted));
      backfill.end();
      live.end();
    }),
);
