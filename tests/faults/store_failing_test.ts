// What a node with an object store tells people while the store fails or lies, and what it tells boats.
import assert from "node:assert/strict";
import { openStore } from "../../src/object_store/mod.ts";
import { CEPH_WRITER } from "../support/ceph.ts";
import { eventually } from "../support/eventually.ts";
import { type Fault, HttpProxy } from "../support/http_proxy.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { needs, SLOW } from "../support/needs.ts";
import { START_MS } from "../support/program.ts";
import { startFleet, STORE_BUCKET, StoreNode } from "../support/store_node.ts";
import { compareStore, toldButMissing } from "../support/store_oracle.ts";

const PERMISSIONS = ["env", "net", "read", "run", "sys", "write"] as const;
const PROCESSES = needs({ permissions: [...PERMISSIONS], extras: SLOW });
const PATIENT = { deadlineMs: START_MS };
/** Less than one request to a silent store takes. */
const SILENT_START_MS = 50_000;
const SINCE = /^frames are not stored since \d{4}-\d\d-\d\dT[\d:.]+Z; they stay in the data directory$/;

/** Faults of all PUTs, and what the log says of them. */
const FAULTS: readonly [Fault, words: RegExp][] = [
  ["fail", /"frames not stored",.*"Cannot store \\"instances\/boat-\d\/.*the store answered 500/],
  [
    "forget with a tag",
    /"frames not stored",.*"Cannot store .*: the store answered that it has it, but does not have these/,
  ],
];

/** The log from an offset on. */
const since = (node: StoreNode, offset: number) => node.log.slice(offset);

Deno.test(
  "a node whose store fails or lies says so in its log and /healthz, and when it is over",
  PROCESSES,
  async () => {
    await using s3 = new MemoryS3();
    await using proxy = await HttpProxy.start(s3.endpoint);
    await using node = await StoreNode.start({ endpoint: proxy.endpoint });
    await using fleet = await startFleet(node, { boats: 3, rate: 50 });
    using store = await openStore({
      ...{ url: `s3://${STORE_BUCKET}/fleet`, endpoint: s3.endpoint, credentials: CEPH_WRITER },
    });
    const isTold = () => fleet.boats.every(({ objectsThrough }) => objectsThrough > 0);
    fleet.begin();
    await eventually("boats to be told that frames are stored", isTold, PATIENT);
    assert.deepEqual((await node.health())["store"], { status: "ok" });
    for (const [fault, words] of FAULTS) {
      const offset = node.log.length;
      proxy.next("PUT", fault);
      await eventually("the health", async () => (await node.health())["store"]?.status === "degraded", PATIENT);
      assert.match((await node.health())["store"]?.message ?? "", SINCE);
      const told = fleet.boats.map(({ id, epoch, objectsThrough }) => ({ id, epoch, through: objectsThrough }));
      assert.equal(await toldButMissing(store, told), 0, fault);
      assert.equal(fleet.sample().connected, 3, "boats stay connected");
      proxy.heal();
      await eventually("the health", async () => (await node.health())["store"]?.status === "ok", PATIENT);
      assert.match(since(node, offset), words);
      assert.match(since(node, offset), /"object store answers again"/);
      assert.equal(since(node, offset).match(/"frames not stored"/g)?.length, 1, "one line, not one for each try");
    }
    fleet.silence();
    const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
    await eventually("all frames to be stored", isStored, PATIENT);
    const { objects: _, ...found } = await compareStore(store, fleet.boats);
    assert.deepEqual(found, { fed: fleet.sample().made, missing: 0, different: 0, extra: 0, duplicates: 0 });
  },
);

Deno.test("a node that starts while its store is silent takes the boats that it knows", PROCESSES, async () => {
  await using s3 = new MemoryS3();
  await using proxy = await HttpProxy.start(s3.endpoint);
  await using node = await StoreNode.start({ endpoint: proxy.endpoint });
  await using fleet = await startFleet(node, { boats: 3, rate: 50, maxReconnectMs: 1000 });
  using store = await openStore({
    ...{ url: `s3://${STORE_BUCKET}/fleet`, endpoint: s3.endpoint, credentials: CEPH_WRITER },
  });
  fleet.begin();
  const isTold = () => fleet.boats.every(({ objectsThrough }) => objectsThrough > 0);
  await eventually("boats to be told that frames are stored", isTold, PATIENT);
  await node.kill();
  for (const method of ["GET", "HEAD", "PUT", "POST"]) proxy.next(method, "stall");
  await node.begin({ deadlineMs: SILENT_START_MS });
  assert.equal((await node.health())["store"]?.status, "degraded");
  const before = fleet.boats.map(({ head }) => head).reduce((sum, head) => sum + head);
  // The cloud acknowledges live frames; what came before them it does not know.
  await eventually("live frames to be on its disk", () => fleet.sample().stored > before, PATIENT);
  proxy.heal();
  fleet.silence();
  const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
  await eventually("all frames to be stored", isStored, PATIENT);
  const { objects: _, duplicates: __, ...found } = await compareStore(store, fleet.boats);
  assert.deepEqual(found, { fed: fleet.sample().made, missing: 0, different: 0, extra: 0 });
});
