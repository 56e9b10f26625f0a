// The data directory of a node with an object store: frames on their way to the store, and nothing else.
import assert from "node:assert/strict";
import { type FrameStore, ObjectCache } from "../../../src/cloud/mod.ts";
import { type Clock, systemClock } from "../../../src/base/mod.ts";
import { sidecarOf } from "../../../src/journal/mod.ts";
import { openStore, StoreError } from "../../../src/object_store/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { journalFiles } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";
import { TIMEOUT } from "../../replication/fixture.ts";
import { EPOCH, wireBlock } from "../block_check_fixture.ts";
import { batch, BOAT, CloudFixture, framesOfStore, request, statusWith, wanted } from "../cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const FORMER = EPOCH;
const NEXT = new Uint8Array(16).fill(0xb2);

async function withStore(
  work: (parts: { folder: string; store: WrappedStore; frameStore: FrameStore }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    using disk = await openStore({ url: `file://${folder}/store` });
    const store = new WrappedStore(disk);
    await work({ folder, store, frameStore: { store, cache: new ObjectCache({ store }) } });
  });
}

/** The store, as it is used while it is said to be away: all frames go into files first. */
const withFiles = (frameStore: FrameStore): FrameStore => ({ ...frameStore, isAway: () => true });

/** Sends live frames in parts, each of which is stored before the next. */
async function feedAndShip(cloud: CloudFixture, parts: readonly (readonly [first: number, last: number])[]) {
  const live = (await cloud.greeted()).client.live();
  for (const [first, last] of parts) {
    await live.send(batch(first, last));
    await eventually("all to be durable", () => cloud.boat.acknowledge() === last);
    await cloud.boat.ship();
  }
  return live;
}

/** A clock that goes forward by more than a boat is left alone for after it has connected. */
function shiftedClock(): { clock: Clock; later(): void } {
  let laterMs = 0;
  const clock = { ...systemClock, monoMs: () => systemClock.monoMs() + laterMs };
  return { clock, later: () => laterMs += 10_000 };
}

/** Names of the boat's journal files. */
const filesIn = (directory: string): string[] => journalFiles(`${directory}/${BOAT}`);

Deno.test(
  "a local file is deleted once its frames are stored, and readers find them in the store",
  CLOUD,
  () =>
    withStore(async ({ folder, store, ...stored }) => {
      const frameStore = withFiles(stored.frameStore);
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      const live = await feedAndShip(cloud, [[1, 300], [301, 600], [601, 900]]);
      const [only, ...others] = filesIn(`${folder}/data`);
      const sidecar = sidecarOf(`${folder}/data/${BOAT}/${only}`);
      await Deno.writeTextFile(sidecar, "");
      assert.ok(only !== undefined && others.length === 0, "the newest file stays for those who are reading it");
      await cloud.boat.ship();
      assert.deepEqual(filesIn(`${folder}/data`), []);
      await assert.rejects(Deno.stat(sidecar), Deno.errors.NotFound);
      assert.equal(cloud.boat.record.storedThrough(), 900);
      await cloud.boat.withFiles(async (files) => {
        await files.findMissing();
        files.findUnheld();
      });
      assert.deepEqual([cloud.boat.record.counters.vanishedFrames, cloud.boat.record.holes], [0, []]);
      assert.deepEqual(await framesOfStore(store, { folder }), range(1, 900).map(wanted));
      live.end();
    }),
);

Deno.test(
  "frames that a node had not stored when it ended are stored when it starts, without their boat",
  CLOUD,
  () =>
    withStore(async ({ folder, store, ...stored }) => {
      const frameStore = withFiles(stored.frameStore);
      {
        await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
        const { client } = await cloud.greeted({ headSeq: 200 });
        const live = client.live();
        await live.send(batch(200, 500));
        const backfill = client.backfill();
        await backfill.send({ block: wireBlock({ firstSeq: 51, frames: 100 }) });
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 401);
        live.end();
        backfill.end();
      }
      assert.deepEqual(await framesOfStore(store, { folder }), []);
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      assert.ok(cloud.boat.hasUnstored && !cloud.boat.isOpen);
      await cloud.boat.ship();
      assert.deepEqual(await framesOfStore(store, { folder }), [...range(51, 150), ...range(200, 500)].map(wanted));
    }),
);

Deno.test(
  "while the store is away a boat is asked for what came after the last frame; then for all that is really missing",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      {
        await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
        const { client } = await cloud.greeted({ headSeq: 100 });
        const live = client.live();
        await live.send(batch(100, 500));
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 401);
        await cloud.boat.ship();
        await cloud.boat.ship();
        live.end();
      }
      store.isAway = true;
      const time = shiftedClock();
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore, clock: time.clock });
      const { client, response } = await cloud.greeted({ headSeq: 600 });
      const { holes, liveStartFrom, known, storedThrough } = response;
      assert.deepEqual({ holes, liveStartFrom, known, storedThrough }, {
        holes: [{ start: 501, end: 600 }],
        liveStartFrom: 600,
        known: true,
        storedThrough: 0,
      });
      const live = client.live();
      await live.send(batch(600, 700));
      await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 401 + 101);
      await assert.rejects(cloud.boat.ship(), /Cannot reach the store of the test/);
      assert.equal(cloud.boat.record.counters.vanishedFrames, 0);
      store.isAway = false;
      time.later();
      await cloud.boat.ship();
      await assert.rejects(statusWith(live, () => false), /the store answers again/);
      const again = await cloud.greeted({ headSeq: 700 });
      assert.deepEqual(again.response.holes, [[1, 100], [501, 600]].map(([start, end]) => ({ start, end })));
      assert.equal(cloud.boat.record.counters.vanishedFrames, 0);
      assert.deepEqual(await framesOfStore(store, { folder }), [...range(100, 500), ...range(600, 700)].map(wanted));
    }),
);

Deno.test(
  "a node with an empty disk knows former epochs, asks for what they lack, and says what is not stored",
  CLOUD,
  () =>
    withStore(async ({ folder, frameStore }) => {
      const former = { epoch: FORMER, head: 500, oldest: 1, void: [], lost: [] };
      const features = ["batch", "void", "bus", "quiet-status", "former"];
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore });
        const { client } = await cloud.greeted({ headSeq: 100 });
        const live = client.live();
        await live.send(batch(100, 400));
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 301);
        const next = await cloud.greeted({ epoch: NEXT, headSeq: 0, features, former: [former] });
        assert.deepEqual(next.response.formerHoles, [
          { epoch: FORMER, holes: [{ start: 1, end: 100 }, { start: 401, end: 501 }], isUnstored: true },
        ]);
        await cloud.boat.ship();
        live.end();
      }
      await Deno.remove(`${folder}/one`, { recursive: true });
      await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore });
      const { response, client } = await cloud.greeted({ epoch: NEXT, headSeq: 0, features, former: [former] });
      assert.deepEqual(response.known, true);
      assert.deepEqual(response.formerHoles, [
        { epoch: FORMER, holes: [{ start: 1, end: 100 }, { start: 401, end: 501 }] },
      ]);
      // The old epoch is not the current one: a machine that counts on in it is a copy.
      await assert.rejects(cloud.greeted({ epoch: FORMER, headSeq: 600, features }), /two machines may be this boat/);
      client.close();
    }),
);

Deno.test(
  "a damaged file stays in the data directory, and what is readable of it is stored",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      {
        await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
        const { client } = await cloud.greeted();
        const live = client.live();
        await live.send(batch(1, 2000));
        await eventually("all to be durable", () => cloud.boat.acknowledge() === 2000);
        live.end();
      }
      const [name = ""] = filesIn(`${folder}/data`);
      const path = `${folder}/data/${BOAT}/${name}`;
      const bytes = await Deno.readFile(path);
      bytes[Math.floor(bytes.length / 2)]! ^= 0xff;
      await Deno.writeFile(path, bytes);
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      for (let i = 0; i < 3; i++) await cloud.boat.ship();
      assert.deepEqual(filesIn(`${folder}/data`), [name]);
      const found = await framesOfStore(store, { folder });
      assert.ok(found.length > 0 && found.length < 2000);
      assert.deepEqual(found, found.map(({ seq }) => wanted(seq)));
      assert.ok(cloud.boat.record.storedThrough()! < 2000);
    }),
);

Deno.test(
  "a node that starts while the store is away takes its known boats, and live frames of others",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      for (const [instanceId, directory] of [[BOAT, "one"], ["boat-002", "two"]] as const) {
        await using cloud = await CloudFixture.start(`${folder}/${directory}`, { frameStore });
        const { client } = await cloud.greeted({ instanceId });
        const live = client.live();
        await live.send(batch(1, 100));
        const boat = cloud.instances.get(instanceId)!;
        await eventually("all to be durable", () => boat.acknowledge() === 100);
        await boat.ship();
        live.end();
      }
      store.isAway = true;
      const time = shiftedClock();
      await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore, clock: time.clock });
      assert.deepEqual([...cloud.instances].map(({ id }) => id), [BOAT]);
      assert.equal((await cloud.greeted({ headSeq: 100 })).response.durableThrough, 100);
      const simple = { instanceId: "boat-002", headSeq: 150 };
      await assert.rejects(cloud.greeted(simple), /what it has of the boat is unknown/);
      const features = ["batch", "void", "bus", "quiet-status", "digest"];
      let lists = 0;
      const away = store.before;
      store.before = (call, key) => {
        if (call === "list") lists++;
        return away(call, key);
      };
      const unknown = await cloud.greeted({ ...simple, features });
      const listsBefore = lists;
      // The proof of its frames follows on the same connection.
      await unknown.client.handshake(request({ ...simple, features }), TIMEOUT);
      assert.deepEqual(
        [listsBefore > 0, lists - listsBefore],
        [true, 0],
        "lists of the store before and for the proof",
      );
      const { holes, liveStartFrom, durableThrough, storedThrough } = unknown.response;
      assert.deepEqual({ holes, liveStartFrom, durableThrough, storedThrough }, {
        holes: [],
        liveStartFrom: 150,
        durableThrough: 0,
        storedThrough: 0,
      });
      const other = cloud.instances.get("boat-002")!;
      const live = unknown.client.live();
      await live.send(batch(150, 200));
      await eventually("all to be durable", () => other.record.received.durableCount === 51);
      await assert.rejects(other.replica(), /what it has of the boat is unknown/);
      store.isAway = false;
      time.later();
      await other.ship();
      await assert.rejects(statusWith(live, () => false), /the store answers again/);
      const again = await cloud.greeted({ ...simple, headSeq: 200 });
      assert.deepEqual(again.response.holes, [{ start: 101, end: 150 }]);
      assert.deepEqual(
        await framesOfStore(store, { folder, id: "boat-002" }),
        [...range(1, 100), ...range(150, 200)].map(wanted),
      );
    }),
);

for (
  const { what, oldestSeq, expected } of [
    { what: "that answers no longer", oldestSeq: 1, expected: ["getRange"] },
    // Frames that the boat has no more may be with other nodes, so that the store is listed.
    { what: "whose list has just failed", oldestSeq: 450, expected: ["list"] },
  ]
) {
  Deno.test(
    `a boat that proves its frames does not wait for a store ${what}`,
    CLOUD,
    () =>
      withStore(async ({ folder, store, frameStore }) => {
        await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore: { ...frameStore, node: "one" } });
        const live = await feedAndShip(cloud, [[1, 300]]);
        await live.send(batch(401, 600));
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 500);
        await cloud.boat.ship();
        // Only now are the files deleted whose frames are stored.
        await cloud.boat.ship();
        live.end();
        const calls: string[] = [];
        store.before = (call) => {
          if (call === "list" || call === "getRange") calls.push(call);
          if (call !== "list") return new Promise(() => {});
          throw new StoreError("Cannot reach the store of the test", { kind: "away" });
        };
        const init = { oldestSeq, headSeq: 700, features: ["batch", "void", "bus", "quiet-status", "digest"] };
        const { client } = await cloud.greeted(init);
        const digests = [{ firstSeq: 450, lastSeq: 600, hash: new Uint8Array(8) }];
        await client.handshake(request({ ...init, digests }), TIMEOUT);
        assert.deepEqual(calls, expected);
      }),
  );
}

Deno.test(
  "a boat without digests is not told that all is here when the store is away as its files are opened again",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      await cloud.greeted({ headSeq: 5 });
      store.isAway = true;
      // Nothing of it is here, and files that are idle are closed.
      cloud.boat.runHousekeeping(0);
      await eventually("the files to be closed", () => !cloud.boat.isOpen);
      await assert.rejects(cloud.greeted({ headSeq: 500 }), /what it has of the boat is unknown/);
      store.isAway = false;
      const { response } = await cloud.greeted({ headSeq: 600 });
      assert.deepEqual([response.holes, response.liveStartFrom], [[{ start: 1, end: 600 }], 600]);
    }),
);

Deno.test(
  "of a boat that came while the store was away the former epochs are known later, also after a restart in between",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      const first = { epoch: FORMER, head: 500, oldest: 1, void: [], lost: [] };
      const features = ["batch", "void", "bus", "quiet-status", "former", "digest"];
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore });
        const { client } = await cloud.greeted({ headSeq: 100 });
        const live = client.live();
        await live.send(batch(100, 400));
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 301);
        await cloud.boat.ship();
        live.end();
      }
      store.isAway = true;
      {
        await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore });
        await assert.rejects(cloud.greeted({ epoch: undefined }), /what it has of the boat is unknown/);
        const { client, response } = await cloud.greeted({ epoch: NEXT, headSeq: 1, features, former: [first] });
        assert.deepEqual([response.holes, response.formerHoles], [[], undefined]);
        const live = client.live();
        await live.send(batch(1, 50));
        await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 50);
        live.end();
      }
      await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore });
      assert.ok(cloud.boat.record.isUnlisted);
      store.isAway = false;
      await cloud.boat.ship();
      assert.deepEqual(cloud.boat.record.epochs, [FORMER, NEXT].map((epoch) => epoch.toHex()));
      const { response } = await cloud.greeted({ epoch: NEXT, headSeq: 50, features, former: [first] });
      assert.deepEqual([response.holes, response.formerHoles], [
        [],
        [{ epoch: FORMER, holes: [{ start: 1, end: 100 }, { start: 401, end: 501 }] }],
      ]);
      await assert.rejects(cloud.greeted({ epoch: FORMER, headSeq: 600, features }), /two machines may be this boat/);
    }),
);
