// A node is killed, and its disk is gone, while the store is given an object, or while the store's answer is on its way.
// The boats delete each frame as soon as they are told that it is stored.
//
// With Ceph, in full size 50 times: `VBG_TEST_FULL=1 deno test -A tests/faults/store_kills_test.ts`; VBG_TEST_ROUNDS changes
// the number.
import assert from "node:assert/strict";
import { openStore } from "../../src/object_store/mod.ts";
import type { Fleet } from "../../src/simulation/fleet/mod.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_WRITER } from "../support/ceph.ts";
import { eventually } from "../support/eventually.ts";
import { HttpProxy, type StopAt } from "../support/http_proxy.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { environment, IS_FULL, needs, SLOW } from "../support/needs.ts";
import { START_MS } from "../support/program.ts";
import { Random } from "../support/random.ts";
import { startFleet, STORE_BUCKET, StoreNode, toldOf } from "../support/store_node.ts";
import { compareStore, toldButMissing } from "../support/store_oracle.ts";

const PERMISSIONS = ["env", "net", "read", "run", "sys", "write"] as const;
const PROCESSES = needs({ permissions: [...PERMISSIONS], extras: SLOW });
const CEPH = needs({ permissions: [...PERMISSIONS], programs: CEPH_PROGRAMS, extras: SLOW });
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? (IS_FULL ? 50 : 2));
const BOATS = 5;
const RATE = 100;
/** Boats wait no longer for the next try, so that many rounds take no hour. */
const MAX_RECONNECT_MS = 1000;

/** All boats have had a status of the node since this was called. */
async function reported(fleet: Fleet): Promise<void> {
  const { made } = fleet.sample();
  await eventually("a status for each boat", () => fleet.sample().stored >= made, { deadlineMs: START_MS });
}

/** Loses a node at each stop, and compares what is in the store at the end. */
async function killAt(stops: readonly { after: number; at: StopAt }[], endpoint: string): Promise<void> {
  const options = { url: `s3://${STORE_BUCKET}/fleet`, credentials: CEPH_WRITER };
  using store = await openStore({ ...options, endpoint });
  await using proxy = await HttpProxy.start(endpoint);
  await using node = await StoreNode.start({ endpoint: proxy.endpoint });
  await using fleet = await startFleet(node, { boats: BOATS, rate: RATE, maxReconnectMs: MAX_RECONNECT_MS });
  fleet.begin();
  for (const [round, { after, at }] of stops.entries()) {
    await proxy.stop({ method: "PUT", path: "/fleet/instances/", after, at });
    await reported(fleet);
    await node.lose();
    assert.equal(await toldButMissing(store, toldOf(fleet)), 0, `round ${round}: stopped ${JSON.stringify(at)}`);
    await node.begin();
    const isBack = () => fleet.sample().connected === BOATS;
    await eventually("all boats", isBack, { deadlineMs: START_MS });
  }
  fleet.silence();
  const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
  await eventually("all frames to be stored", isStored, { deadlineMs: START_MS });
  const { objects, duplicates, ...found } = await compareStore(store, fleet.boats);
  // deno-lint-ignore no-console -- the figures of a run by hand
  if (IS_FULL) console.log(JSON.stringify({ rounds: stops.length, ...found, duplicates, objects }));
  assert.deepEqual(found, { fed: fleet.sample().made, missing: 0, different: 0, extra: 0 });
  assert.equal(fleet.sample().lost, 0);
}

Deno.test(
  "a node that is lost inside a PUT, or before its answer, has told no boat that the frames are stored",
  PROCESSES,
  async () => {
    await using s3 = new MemoryS3();
    await killAt([
      { after: 3, at: { kind: "body", share: 0.5 } },
      { after: 7, at: { kind: "answer" } },
    ], s3.endpoint);
  },
);

Deno.test(`Ceph: ${ROUNDS} nodes lost inside PUTs and before their answers lose no frame of a boat`, CEPH, async () => {
  const random = new Random(29);
  await using ceph = await Ceph.start();
  await ceph.createBucket(STORE_BUCKET);
  const stops = Array.from({ length: ROUNDS }, () => {
    const at: StopAt = random.chance(0.4) ? { kind: "answer" } : { kind: "body", share: random.int(1001) / 1000 };
    return { after: random.int(3 * BOATS), at };
  });
  await killAt(stops, ceph.endpoint);
});
