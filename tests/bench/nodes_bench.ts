import { connectCloud } from "../../src/client/mod.ts";
import { Ceph } from "../support/ceph.ts";
import { StoreCluster } from "../support/store_cluster.ts";
import { startFleet, STORE_BUCKET } from "../support/store_node.ts";
import { report } from "./figure.ts";
import { cpuMs, rssMb, sleep } from "./process.ts";

const BOATS = 90;
const RATE = 200;
const SETTLE_MS = 20_000;
const MEASURE_MS = 30_000;
const LOOK_MS = 100;
const READERS = 30;

/** CPU of all nodes over a time, percent of a core. */
async function cpuOf(cluster: StoreCluster, during: () => void): Promise<number> {
  const used = () => cluster.nodes.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  const [beginMs, beginCpuMs] = [performance.now(), used()];
  while (performance.now() < beginMs + MEASURE_MS) {
    await sleep(LOOK_MS);
    during();
  }
  return (used() - beginCpuMs) / (performance.now() - beginMs) * 100;
}

/** Live readers of all boats in turn at one URL; gives how many frames came, and the ages of some. */
async function readAt(url: string, work: () => Promise<number>): Promise<{ cpu: number; frames: number }> {
  const abort = new AbortController();
  let frames = 0;
  const reading = Array.from({ length: READERS }, async (_, i) => {
    const boat = connectCloud(url).boat(`boat-${1 + i * (BOATS / READERS)}`);
    try {
      for await (const _frame of boat.subscribe({}, { signal: abort.signal })) frames++;
    } catch {
      // The bench has ended it.
    }
  });
  await sleep(5000);
  frames = 0;
  const cpu = await work();
  const found = { cpu, frames };
  abort.abort();
  await Promise.all(reading);
  return found;
}

/** What boats cost 1, 2 and 3 nodes with one store, and what it costs to read boats at other nodes than theirs. */
export async function nodesBench(): Promise<void> {
  await using ceph = await Ceph.start({ osds: 3 });
  await ceph.createBucket(STORE_BUCKET);
  for (const nodes of [1, 2, 3]) {
    const what = `${BOATS} boats with ${RATE} frames/s, nodes: ${nodes}`;
    await using cluster = await StoreCluster.start({
      nodes,
      endpoint: ceph.endpoint,
      prefix: `n${nodes}`,
      intervalS: 10,
    });
    await using fleet = await startFleet(cluster, { boats: BOATS, rate: RATE });
    fleet.begin();
    await sleep(SETTLE_MS);
    const made = fleet.sample().made;
    let receivedWaitMs = 0;
    const cpu = await cpuOf(cluster, () => receivedWaitMs = Math.max(receivedWaitMs, fleet.sample().receivedWaitMs));
    const rate = (fleet.sample().made - made) / (MEASURE_MS / 1000);
    report({ name: `${what}: frames`, value: rate, unit: "1/s" });
    report({ name: `${what}: CPU of a boat`, value: cpu / BOATS, unit: "% of a core" });
    report({ name: `${what}: longest wait for received`, value: receivedWaitMs / 1000, unit: "s", bar: "<= 6" });
    const memory = cluster.nodes.reduce((sum, { pid }) => sum + rssMb(pid), 0);
    report({ name: `${what}: memory of all nodes`, value: memory, unit: "MB" });
    const read = await readAt(cluster.urlOf(0), () => cpuOf(cluster, () => {}));
    const each = (read.cpu - cpu) / READERS;
    report({ name: `${what}: CPU of a reader, all at one node`, value: each, unit: "% of a core" });
    report({
      name: `${what}: frames that ${READERS} readers got`,
      value: read.frames / (MEASURE_MS / 1000),
      unit: "1/s",
    });
    fleet.silence();
  }
}

/** As many boats as this machine holds beside two nodes and Ceph. */
export async function nodesFleetBench({ boats }: { boats: number }): Promise<void> {
  await using ceph = await Ceph.start({ osds: 3 });
  await ceph.createBucket(STORE_BUCKET);
  await using cluster = await StoreCluster.start({ nodes: 2, endpoint: ceph.endpoint, intervalS: 30 });
  await using fleet = await startFleet(cluster, { boats, rate: RATE, collectMs: 200 });
  fleet.begin();
  await sleep(SETTLE_MS);
  const before = fleet.sample();
  let receivedWaitMs = 0;
  const cpu = await cpuOf(cluster, () => receivedWaitMs = Math.max(receivedWaitMs, fleet.sample().receivedWaitMs));
  const { made, reconnects, lost } = fleet.sample();
  const what = `${boats} boats with ${RATE} frames/s, which nobody reads, 2 nodes`;
  report({ name: `${what}: frames`, value: (made - before.made) / (MEASURE_MS / 1000), unit: "1/s" });
  report({ name: `${what}: CPU of a boat`, value: cpu / boats, unit: "% of a core" });
  report({ name: `${what}: longest wait for received`, value: receivedWaitMs / 1000, unit: "s", bar: "<= 6" });
  report({ name: `${what}: reconnects while measuring`, value: reconnects - before.reconnects, unit: "" });
  report({ name: `${what}: frames lost`, value: lost, unit: "", bar: "<= 0" });
}
