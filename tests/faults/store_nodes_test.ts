// Several nodes with one store behind a balancer, to any of which boats and readers connect, while nodes and parts of the
// store are killed, frozen and cut off.
//
// In full size (50 boats with 200 frames/s for 20 minutes, Ceph with 3 OSDs, a real boat that is killed):
// `VBG_TEST_FULL=1 deno test -A tests/faults/store_nodes_test.ts`; VBG_TEST_MINUTES changes the time. It prints one line of
// JSON for each fault, and one for the end.
import assert from "node:assert/strict";
import { openStore } from "../../src/object_store/mod.ts";
import type { Fleet } from "../../src/simulation/fleet/mod.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_WRITER } from "../support/ceph.ts";
import { eventually, pause } from "../support/eventually.ts";
import { JournalBoat } from "../support/journal_boat.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { environment, IS_FULL, needs, SLOW } from "../support/needs.ts";
import { NodeReader } from "../support/node_reader.ts";
import { START_MS } from "../support/program.ts";
import { Random } from "../support/random.ts";
import { BALANCER_PROGRAM, StoreCluster } from "../support/store_cluster.ts";
import { startFleet, STORE_BUCKET } from "../support/store_node.ts";
import { compareStore, fedFrames } from "../support/store_oracle.ts";

const PERMISSIONS = ["env", "net", "read", "run", "sys", "write"] as const;
const CLUSTER = needs({ permissions: [...PERMISSIONS], programs: [BALANCER_PROGRAM], extras: SLOW });
const FULL = needs({
  permissions: [...PERMISSIONS],
  programs: [BALANCER_PROGRAM, ...CEPH_PROGRAMS],
  extras: IS_FULL ? {} : { "VBG_TEST_FULL=1": false },
});
const MINUTES = Number(environment("VBG_TEST_MINUTES") ?? 20);
const NODES = 3;
const url = `s3://${STORE_BUCKET}/fleet`;
/** Longest times until every boat is live again. */
const AFTER_KILL_MS = 5000;
const AFTER_FREEZE_MS = 25_000;
const LOOK_MS = 100;
/** The boat that is killed. */
const KILLED = "killed";

type Listed = { instances: { id: string; connected: boolean; last_seen: string }[] };

/** Waits until a node says of all boats that they were heard after a time; gives the time that took, milliseconds. */
async function liveAgain(url: string, { boats, afterMs }: { boats: number; afterMs: number }): Promise<number> {
  await eventually("all boats", async () => {
    await pause(LOOK_MS);
    const answer = await fetch(`${url}/instances`, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (!answer?.ok) return void await answer?.body?.cancel();
    const { instances }: Listed = await answer.json();
    const live = instances.filter(({ id, connected, last_seen }) =>
      id !== KILLED && connected && Date.parse(last_seen) > afterMs
    );
    return live.length === boats;
  }, { deadlineMs: START_MS });
  return Date.now() - afterMs;
}

/** Waits until each reader has frames of now: one that comes back after the last frame is told of none that it missed. */
async function allRead(readers: readonly NodeReader[], fleet: Fleet): Promise<void> {
  const heads = new Map(fleet.boats.map(({ id, head }) => [id, head]));
  for (const reader of readers) {
    const isCurrent = () => reader.failure !== undefined || reader.last > heads.get(reader.boat)!;
    await eventually(`new frames for the ${reader.name}`, isCurrent, { deadlineMs: START_MS });
  }
}

/** Waits until everything is stored, and compares the store with what was fed. */
async function assertAllStored(fleet: Fleet, endpoint: string): Promise<Record<string, number>> {
  using store = await openStore({ url, endpoint, credentials: CEPH_WRITER });
  fleet.silence();
  const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
  await eventually("all frames to be stored", isStored, { deadlineMs: START_MS });
  const { objects, duplicates, ...found } = await compareStore(store, fleet.boats);
  assert.deepEqual(found, { fed: fleet.sample().made, missing: 0, different: 0, extra: 0 });
  assert.equal(fleet.sample().lost, 0);
  return { ...found, objects, duplicates };
}

/** Each frame that a reader was not given was reported to it. */
async function assertReported(readers: readonly NodeReader[], fleet: Fleet): Promise<void> {
  for (const reader of readers) {
    assert.equal(reader.failure, undefined, `${reader.name}: ${reader.failure}`);
    const boat = fleet.boats.find(({ id }) => id === reader.boat);
    await eventually(`${reader.name} to end`, () => reader.last === boat?.head, { deadlineMs: START_MS });
    const { frames, unreported, different } = reader;
    assert.deepEqual([reader.name, unreported, different, frames > 0], [reader.name, 0, 0, true]);
  }
}

/** A live reader and one with a session at each node, each of another boat. */
function readersOf(cluster: StoreCluster, fleet: Fleet): NodeReader[] {
  return cluster.nodes.flatMap((_, at) =>
    (["live", "session"] as const).map((kind, i) =>
      new NodeReader(cluster.urlOf(at), { boat: fleet.boats[2 * at + i]!, kind, name: `node-${at + 1}` })
    )
  );
}

Deno.test(
  "each node answers for every boat, and boats of a lost node are live at others, with readers that miss nothing unreported",
  CLUSTER,
  async () => {
    await using s3 = new MemoryS3();
    await using cluster = await StoreCluster.start({ nodes: NODES, endpoint: s3.endpoint });
    await using fleet = await startFleet(cluster, { boats: 9, rate: 50, maxReconnectMs: 1000 });
    fleet.begin();
    await eventually("the first frames", () => fleet.boats.every(({ head }) => head >= 100));
    await using readers = disposeAll(readersOf(cluster, fleet));
    for (const [at, node] of cluster.nodes.entries()) {
      await liveAgain(cluster.urlOf(at), { boats: 9, afterMs: 0 });
      for (const boat of fleet.boats) {
        const frames = () => node.history(boat.id, { limit: 100 });
        await eventually(`the frames of ${boat.id}`, async () => (await frames()).length === 100);
        assert.deepEqual(await frames(), fedFrames(boat, { last: 100 }));
      }
    }
    await using killed = await JournalBoat.start(KILLED, cluster);
    await eventually("all readers", () => readers.all.every(({ frames }) => frames > 0));
    await killed.kill();
    await cluster.nodes[0]!.lose();
    await killed.begin();
    await liveAgain(cluster.urlOf(1), { boats: 9, afterMs: Date.now() });
    await cluster.nodes[0]!.begin();
    await cluster.nodes[1]!.kill();
    await liveAgain(cluster.urlOf(2), { boats: 9, afterMs: Date.now() });
    await cluster.nodes[1]!.begin();
    await liveAgain(cluster.urlOf(1), { boats: 9, afterMs: Date.now() });
    await allRead(readers.all, fleet);
    using store = await openStore({ url, endpoint: s3.endpoint, credentials: CEPH_WRITER });
    assert.equal((await killed.missingIn(store)).missing, 0);
    await assertAllStored(fleet, s3.endpoint);
    await assertReported(readers.all, fleet);
  },
);

function disposeAll(all: readonly NodeReader[]): { all: readonly NodeReader[] } & AsyncDisposable {
  return {
    all,
    [Symbol.asyncDispose]: async () => {
      for (const each of all) await each[Symbol.asyncDispose]();
    },
  };
}

/** What happens to a node; `limitMs`: how soon all boats are live again, milliseconds. */
const NODE_FAULTS = [
  { name: "kill", limitMs: AFTER_KILL_MS },
  { name: "lose", limitMs: AFTER_KILL_MS },
  { name: "freeze", limitMs: AFTER_FREEZE_MS },
  { name: "cut", limitMs: AFTER_FREEZE_MS },
] as const;
const STORE_FAULTS = [
  ["osd.0", "KILL"],
  ["client.rgw.a", "STOP"],
  ["osd.1", "STOP"],
  ["client.rgw.a", "KILL"],
] as const;
const FAULT_MS = 30_000;
const HEALTHY_MS = 31_000;
/** The gateway is away for this time; boats that prove their frames do not wait for it. */
const GATEWAY_MS = 5000;

/** Does something to a node; returns what brings it back. */
async function harm(
  cluster: StoreCluster,
  { at, name }: { at: number; name: (typeof NODE_FAULTS)[number]["name"] },
): Promise<() => Promise<void>> {
  const node = cluster.nodes[at]!;
  if (name === "kill" || name === "lose") {
    await node[name]();
    return () => node.begin();
  }
  const harmed = (isHarmed: boolean) => {
    if (name === "cut") cluster.cut(at, isHarmed);
    else node.signal(isHarmed ? "SIGSTOP" : "SIGCONT");
  };
  harmed(true);
  return () => Promise.resolve(harmed(false));
}

Deno.test(
  `${NODES} nodes, the store and its gateway are killed, frozen and cut off for ${MINUTES} minutes, and no frame is lost`,
  FULL,
  async () => {
    const random = new Random(41);
    const boats = 50;
    await using ceph = await Ceph.start({ osds: 3 });
    await ceph.createBucket(STORE_BUCKET);
    const { endpoint } = ceph;
    const intervalS = 10;
    await using cluster = await StoreCluster.start({ nodes: NODES, endpoint, intervalS, isCuttable: true });
    await using fleet = await startFleet(cluster, { boats, rate: 200 });
    fleet.begin();
    await eventually("the first frames", () => fleet.boats.every(({ head }) => head >= 100));
    await using readers = disposeAll(readersOf(cluster, fleet));
    await using killed = await JournalBoat.start(KILLED, cluster);
    // A boat that was connected for 30 s tries again at once.
    await pause(HEALTHY_MS);
    const slowest: Record<string, number> = {};
    const late: string[] = [];
    const endMs = Date.now() + MINUTES * 60_000;
    for (let round = 0; Date.now() < endMs; round++) {
      const at = round % NODES;
      const { name, limitMs } = NODE_FAULTS[Math.floor(round / NODES) % NODE_FAULTS.length]!;
      const [part, signal] = STORE_FAULTS[round % STORE_FAULTS.length]!;
      const isStoreHarmed = random.chance(0.5);
      if (isStoreHarmed) await ceph.signal(part, signal);
      const isGateway = isStoreHarmed && part === "client.rgw.a";
      const mend = () => signal === "KILL" ? ceph.startPart(part) : ceph.signal(part, "CONT");
      const gateway = isGateway ? pause(GATEWAY_MS).then(mend) : undefined;
      const afterMs = Date.now();
      const repair = await harm(cluster, { at, name });
      await killed.kill();
      const liveMs = await liveAgain(cluster.urlOf((at + 1) % NODES), { boats, afterMs });
      await killed.begin();
      // deno-lint-ignore no-console -- the figures of a run by hand
      console.log(JSON.stringify({ round, name, node: at + 1, ...isStoreHarmed && { part, signal }, liveMs }));
      const kind = isGateway ? `${name} without the gateway` : name;
      slowest[kind] = Math.max(slowest[kind] ?? 0, liveMs);
      await pause(Math.max(0, afterMs + FAULT_MS - Date.now()));
      await repair();
      await (isStoreHarmed && !isGateway ? mend() : gateway);
      await pause(HEALTHY_MS / 2 + random.int(15_000));
      if (liveMs > limitMs) late.push(`${name} of round ${round}: ${liveMs} ms`);
    }
    await allRead(readers.all, fleet);
    using store = await openStore({ url, endpoint, credentials: CEPH_WRITER });
    const real = await killed.missingIn(store);
    const found = await assertAllStored(fleet, endpoint);
    const seen = readers.all.map(({ name, frames, repeated, reported, unreported, connections }) => {
      return { name, frames, repeated, reported, unreported, connections };
    });
    // deno-lint-ignore no-console -- the figures of a run by hand
    console.log(JSON.stringify({ ...found, slowest, real }), seen);
    assert.equal(real.missing, 0, "frames of the boat that was killed");
    await assertReported(readers.all, fleet);
    assert.deepEqual(late, []);
  },
);
