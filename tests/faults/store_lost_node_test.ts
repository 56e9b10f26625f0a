// A node is killed under load and its disk is gone; a new one with an empty disk takes its place, while parts of the store
// fail, too. The boats delete each frame as soon as they are told that it is stored.
//
// Needs Ceph and VBG_TEST_SLOW=1; in full size (50 boats with 200 frames/s, 10 nodes, 3 OSDs: 15 minutes)
// `VBG_TEST_FULL=1 deno test -A tests/faults/store_lost_node_test.ts`; VBG_TEST_ROUNDS changes the number of nodes. It
// prints one line of JSON for each node that was lost, and one for the end.
import assert from "node:assert/strict";
import { openStore } from "../../src/object_store/mod.ts";
import type { Fleet } from "../../src/simulation/fleet/mod.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_WRITER, type CephPart } from "../support/ceph.ts";
import { eventually, pause } from "../support/eventually.ts";
import { environment, IS_FULL, needs, SLOW } from "../support/needs.ts";
import { START_MS } from "../support/program.ts";
import { Random } from "../support/random.ts";
import { startFleet, STORE_BUCKET, StoreNode, toldOf } from "../support/store_node.ts";
import { compareStore, fedFrames, toldButMissing } from "../support/store_oracle.ts";

const CEPH = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: CEPH_PROGRAMS,
  extras: SLOW,
});
const SIZE = IS_FULL
  ? { boats: 50, rate: 200, rounds: 10, osds: 3, intervalS: 10, maxReconnectMs: 60_000 }
  : { boats: 12, rate: 50, rounds: 2, osds: 2, intervalS: 2, maxReconnectMs: 1000 };
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? SIZE.rounds);
/** Longest time from the start of a new node until it serves the history of all boats, and all are connected. */
const LIVE_AGAIN_MS = 60_000;
/** A boat that was connected for 30 s tries again at once; in full size boats are, as nodes are not lost every minute. */
const HEALTHY_MS = IS_FULL ? 31_000 : 0;
const LOOK_MS = 100;
/** Frames of each boat that are compared after each round. */
const HEAD_FRAMES = 100;
/** What happens to the store around the loss of a node; each is brought back. */
const FAULTS: readonly { part: CephPart; signal: "KILL" | "STOP" }[] = [
  { part: "osd.0", signal: "KILL" },
  { part: "client.rgw.a", signal: "STOP" },
  { part: "osd.1", signal: "STOP" },
  { part: "client.rgw.a", signal: "KILL" },
];

/** Waits until each boat has been told of new stored frames, and a while longer that differs from round to round. */
async function storing(fleet: Fleet, random: Random): Promise<void> {
  const heads = fleet.boats.map(({ head }) => head);
  const isTold = () => fleet.boats.every(({ objectsThrough }, i) => objectsThrough >= heads[i]!);
  await eventually("all boats to be told that their frames are stored", isTold, { deadlineMs: START_MS });
  await pause(random.int(SIZE.intervalS * 1000));
}

/** Lets boats be connected for a while; gives the longest wait of a frame for the store in its second half, milliseconds. */
async function healthy(fleet: Fleet): Promise<number> {
  await pause(HEALTHY_MS / 2);
  let storedWaitMs = 0;
  for (const untilMs = performance.now() + HEALTHY_MS / 2; performance.now() < untilMs; await pause(LOOK_MS)) {
    storedWaitMs = Math.max(storedWaitMs, Math.round(fleet.sample().objectWaitMs));
  }
  return storedWaitMs;
}

/**
 * Waits until all boats are connected and the node serves the first frames of each, which only the store has; gives the
 * times that took, milliseconds.
 */
async function liveAgain(node: StoreNode, fleet: Fleet): Promise<{ connectedMs: number; servedMs: number }> {
  const beginMs = performance.now();
  await node.begin();
  const isConnected = () => fleet.sample().connected === fleet.boats.length;
  await eventually("all boats", isConnected, { deadlineMs: START_MS });
  const connectedMs = Math.round(performance.now() - beginMs);
  for (const boat of fleet.boats) {
    const frames = fedFrames(boat, { last: Math.min(HEAD_FRAMES, boat.objectsThrough) });
    assert.deepEqual(await node.history(boat.id, { limit: frames.length }), frames);
  }
  return { connectedMs, servedMs: Math.round(performance.now() - beginMs) };
}

async function breakStore(ceph: Ceph, { part, signal }: (typeof FAULTS)[number]): Promise<() => Promise<void>> {
  await ceph.signal(part, signal);
  return () => signal === "KILL" ? ceph.startPart(part) : ceph.signal(part, "CONT");
}

function report(line: Record<string, number | string>): void {
  // deno-lint-ignore no-console -- the figures of a run by hand
  if (IS_FULL) console.log(JSON.stringify(line));
}

Deno.test(
  `${ROUNDS} nodes are lost one after the other while parts of the store fail, and no frame of a boat is`,
  CEPH,
  async () => {
    const random = new Random(17);
    await using ceph = await Ceph.start(SIZE);
    await ceph.createBucket(STORE_BUCKET);
    const { endpoint } = ceph;
    using store = await openStore({ url: `s3://${STORE_BUCKET}/fleet`, endpoint, credentials: CEPH_WRITER });
    await using node = await StoreNode.start({ endpoint, intervalS: SIZE.intervalS });
    await using fleet = await startFleet(node, SIZE);
    const epochs = fleet.boats.map(({ epoch }) => epoch.toHex());
    let slowestMs = 0;
    fleet.begin();
    await eventually("the first frames", () => fleet.boats.every(({ head }) => head >= HEAD_FRAMES));
    for (let round = 0; round < ROUNDS; round++) {
      const storedWaitMs = await healthy(fleet);
      await storing(fleet, random);
      const fault = FAULTS[round % FAULTS.length]!;
      const restore = await breakStore(ceph, fault);
      await pause(random.int(4000));
      const isRestoredBefore = random.chance(0.5);
      if (isRestoredBefore) await restore();
      const lostMs = performance.now();
      await node.lose();
      const told = toldOf(fleet);
      if (!isRestoredBefore) await restore();
      assert.equal(await toldButMissing(store, told), 0, `round ${round}: a boat was told that a frame is stored`);
      const awayMs = Math.round(performance.now() - lostMs);
      const times = await liveAgain(node, fleet);
      report({
        round,
        fault: `${fault.signal} ${fault.part}`,
        storedWaitMs,
        awayMs,
        ...times,
        made: fleet.sample().made,
      });
      slowestMs = Math.max(slowestMs, times.servedMs);
    }
    fleet.silence();
    const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
    await eventually("all frames to be stored", isStored, { deadlineMs: START_MS });
    const { objects, ...found } = await compareStore(store, fleet.boats);
    report({ ...found, objects, lost: fleet.sample().lost });
    assert.deepEqual({ ...found, duplicates: 0 }, {
      fed: fleet.sample().made,
      ...{ missing: 0, different: 0, extra: 0, duplicates: 0 },
    });
    assert.equal(fleet.sample().lost, 0);
    assert.ok(slowestMs < LIVE_AGAIN_MS, `${slowestMs} ms`);
    assert.deepEqual(fleet.boats.map(({ epoch }) => epoch.toHex()), epochs, "no boat has begun a new epoch");
    // What a new node serves, from the objects alone.
    await node.lose();
    await node.begin();
    for (const boat of fleet.boats.slice(0, 12)) {
      assert.deepEqual(await node.history(boat.id, { limit: boat.head }), fedFrames(boat));
    }
  },
);
