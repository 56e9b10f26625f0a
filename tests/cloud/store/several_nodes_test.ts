// What several nodes of one store do with one boat, whoever of them has it.
import assert from "node:assert/strict";
import { evaluateEpoch, type FrameStore, ObjectCache } from "../../../src/cloud/mod.ts";
import { BoatObjects } from "../../../src/cloud/store/boat_objects.ts";
import {
  compactBoat,
  type CompactionFault,
  CompactionMemory,
} from "../../../src/cloud/store/compaction/compact_boat.ts";
import { parseFrameKey } from "../../../src/cloud/store/object_names.ts";
import { type ObjectStore, openStore } from "../../../src/object_store/mod.ts";
import { code } from "../../replication/fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { needs } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";
import { batch, BOAT, CloudFixture, digest, framesOfStore, liveFrame, wanted } from "../cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const FEATURES = ["batch", "void", "bus", "quiet-status", "digest", "former"];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Nodes {
  one: CloudFixture;
  two: CloudFixture;
  store: ObjectStore;
  folder: string;
  /** Starts the first node again, to which the boat is live at the second one. */
  again: () => Promise<CloudFixture>;
}

async function withNodes(work: (nodes: Nodes) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    using store = await openStore({ url: `file://${folder}/store` });
    const frameStore: FrameStore = { store, cache: new ObjectCache({ store }) };
    const nodes = { isLiveElsewhere: () => true, hasSeen: () => true, arrivals: 0 };
    // One stores from files, the other one at once.
    await using one = await CloudFixture.start(`${folder}/one`, { frameStore: { ...frameStore, isAway: () => true } });
    await using two = await CloudFixture.start(`${folder}/two`, { frameStore });
    const again = () => CloudFixture.start(`${folder}/one`, { frameStore, nodes });
    await work({ one, two, store, folder, again });
  });
}

/** The boat streams frames to a node, until they are on its disk. */
async function streamed(node: CloudFixture, first: number, last: number): Promise<{ end(): void }> {
  const live = (await node.greeted({ headSeq: first, features: FEATURES })).client.live();
  await live.send(batch(first, last));
  await eventually("all to be durable", () => node.boat.received.hasAll({ start: first, end: last + 1 }));
  await eventually("all to be synced", () => node.boat.received.durableCount >= last + 1 - first);
  return live;
}

/** Numbers of the objects of the boat. */
async function objectsOf(store: ObjectStore): Promise<number[][]> {
  const found: number[][] = [];
  for await (const page of store.list({ prefix: "instances/" })) {
    for (const { key } of page) {
      const { first = NaN, last = NaN } = parseFrameKey(key) ?? {};
      found.push([first, last]);
    }
  }
  return found;
}

Deno.test(
  "two nodes that have a boat at the same time store each of its frames, and readers get each once",
  CLOUD,
  () =>
    withNodes(async ({ one, two, store, folder }) => {
      const first = await streamed(one, 1, 400);
      const second = await streamed(two, 301, 700);
      await Promise.all([one.boat.ship(), two.boat.ship()]);
      assert.ok((await objectsOf(store)).reduce((sum, [from = 0, to = 0]) => sum + to + 1 - from, 0) >= 800);
      assert.deepEqual(await framesOfStore(store, { folder }), range(1, 700).map(wanted));
      first.end();
      second.end();
    }),
);

Deno.test(
  "a boat that comes back to a node is not asked for what another node has stored and it has deleted",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      const store = new WrappedStore(disk);
      const frameStore = (node: string): FrameStore => ({ store, cache: new ObjectCache({ store }), node });
      await using one = await CloudFixture.start(`${folder}/one`, { frameStore: frameStore("one") });
      await using two = await CloudFixture.start(`${folder}/two`, { frameStore: frameStore("two") });
      // The first node does not notice that the boat has left.
      await streamed(one, 1, 300);
      await one.boat.ship();
      (await streamed(two, 301, 700)).end();
      await two.boat.ship();
      const back = await one.greeted({ headSeq: 900, oldestSeq: 701, features: FEATURES });
      assert.deepEqual(back.response.holes, [{ start: 701, end: 900 }]);
      assert.equal(one.boat.record.storedThrough(), 700);
      await streamed(two, 901, 950);
      await two.boat.ship();
      store.isAway = true;
      const away = await one.greeted({ headSeq: 1000, oldestSeq: 951, features: FEATURES });
      assert.deepEqual(away.response.holes, [{ start: 951, end: 1000 }]);
      store.isAway = false;
    }),
);

Deno.test(
  "a clone on another node must begin a new epoch before anything of it is accepted",
  CLOUD,
  () =>
    withNodes(async ({ one, two, store, folder }) => {
      const live = await streamed(one, 1, 300);
      await one.boat.ship();
      const request = { features: FEATURES, headSeq: 300, digests: [digest(1, 300, { fork: 200 })] };
      await assert.rejects(two.greeted(request), code("ALREADY_EXISTS"));
      assert.deepEqual(two.boat.received.record().durable, [{ start: 1, end: 301 }]);
      assert.deepEqual(await framesOfStore(store, { folder }), range(1, 300).map(wanted));
      live.end();
    }),
);

Deno.test(
  "of a clone that no digest gives away, other frames with the same numbers are kept and reported",
  CLOUD,
  () =>
    withNodes(async ({ one, two, store }) => {
      const frames = range(1, 200).map((seq) => {
        const { data, ...rest } = liveFrame(seq);
        return { ...rest, data: data.map((byte, at) => at === 0 && seq > 100 ? byte ^ 1 : byte) };
      });
      const live = await streamed(one, 1, 200);
      const copy = (await two.greeted({ headSeq: 1 })).client.live();
      await copy.send({ kind: "batch", frames });
      await eventually("the clone's frames", () => two.boat.received.durableCount === 200);
      await Promise.all([one.boat.ship(), two.boat.ship()]);
      const faults: CompactionFault[] = [];
      const report = (fault: CompactionFault) => faults.push(fault);
      // The objects were stored two hours ago.
      const aged = new WrappedStore(store);
      aged.dateOf = ({ key, lastModifiedMs }) => lastModifiedMs - (key.startsWith("instances/") ? 2 * HOUR_MS : 0);
      const options = { id: BOAT, store: aged, memory: new CompactionMemory(), changed: () => {}, report };
      for (const nowMs of [Date.now() + 2 * DAY_MS, Date.now() + 4 * DAY_MS]) await compactBoat({ ...options, nowMs });
      assert.deepEqual(faults.map(({ kind, objects }) => [kind, objects.length]), [["different", 2]]);
      assert.deepEqual(await objectsOf(store), [[1, 200], [1, 200]]);
      live.end();
      copy.end();
    }),
);

Deno.test(
  "a node that comes back after a day stores what it had not stored, and releases the boat",
  CLOUD,
  () =>
    withNodes(async ({ one, two, store, folder, again }) => {
      (await streamed(one, 1, 1000)).end();
      await eventually("the end of the stream", () => !one.boat.connected);
      await one.instances.stop();
      const live = await streamed(two, 901, 1500);
      await two.boat.ship();
      assert.deepEqual(await framesOfStore(store, { folder }), range(901, 1500).map(wanted));
      await using back = await again();
      await back.boat.ship();
      await eventually("its files to be closed", () => {
        back.instances.runHousekeeping();
        return !back.boat.isOpen;
      });
      assert.deepEqual(await framesOfStore(store, { folder }), range(1, 1500).map(wanted));
      live.end();
    }),
);

Deno.test(
  "a former epoch that a node stores after the one that followed it stays the former one",
  CLOUD,
  () =>
    withNodes(async ({ one, two, store }) => {
      const [earlier, later] = [new Uint8Array(16).fill(1), new Uint8Array(16).fill(2)];
      const stream = async (
        node: CloudFixture,
        { epoch, first }: { epoch: Uint8Array<ArrayBuffer>; first: number },
      ) => {
        const live = (await node.greeted({ headSeq: first, epoch, features: FEATURES })).client.live();
        await live.send(batch(first, first + 99));
        await eventually("all to be synced", () => node.boat.received.durableCount === 100);
        live.end();
      };
      await stream(one, { epoch: earlier, first: 1 });
      // Numbers are times here: the later epoch is later.
      await stream(two, { epoch: later, first: 1001 });
      await two.boat.ship();
      await one.boat.ship();
      const objects = new BoatObjects({ id: BOAT, store });
      await objects.list();
      assert.deepEqual(objects.epochs, [earlier.toHex(), later.toHex()]);
    }),
);

Deno.test("a boat that lists the current epoch as a former one goes on in its own, as one does whose clock was wrong", () => {
  const [first, second, third] = [1, 2, 3].map((byte) => new Uint8Array(16).fill(byte));
  const history = { current: first!.toHex(), previous: [second!.toHex()] };
  const boat = { epoch: second, headSeq: 10, last: 10 };
  assert.equal(evaluateEpoch(history, boat).kind, "clone");
  assert.equal(evaluateEpoch(history, { ...boat, former: [third!.toHex()] }).kind, "clone");
  assert.equal(evaluateEpoch(history, { ...boat, former: [first!.toHex()] }).kind, "new");
});
