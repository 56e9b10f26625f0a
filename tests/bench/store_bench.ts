import { silentLogger } from "../../src/base/mod.ts";
import { ObjectCache, storeBoat } from "../../src/cloud/mod.ts";
import { BoatObjects } from "../../src/cloud/store/boat_objects.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { openStore } from "../../src/object_store/mod.ts";
import { CloudFixture, request } from "../cloud/cloud_fixture.ts";
import { TIMEOUT } from "../replication/fixture.ts";
import { Ceph, CEPH_WRITER } from "../support/ceph.ts";
import { appendRange, makeWriter } from "../support/journal_run.ts";
import { startFleet, STORE_BUCKET, StoreNode } from "../support/store_node.ts";
import { writeDay } from "./day.ts";
import { report } from "./figure.ts";
import { ask, HOUR_BYTES, HOUR_QUERY } from "./history_bench.ts";
import { cpuMs, rssMb, sleep } from "./process.ts";

const RATE = 200;
const FEW = 100;
const MANY = 300;
const SETTLE_MS = 40_000;
const MEASURE_MS = 60_000;
/** The default. */
const INTERVAL_S = 30;
const LOOK_MS = 100;

interface Load {
  /** Of one core, percent. */
  cpu: number;
  rssMb: number;
  /** Longest age of a frame that the store does not have, milliseconds. */
  storedWaitMs: number;
}

/** What a node needs for boats that stream. */
async function load(
  endpoint: string | undefined,
  { boats, rate, isRead }: { boats: number; rate: number; isRead: boolean },
): Promise<Load> {
  const prefix = `load-${boats}-${isRead}`;
  const flags = isRead ? ["-replication-collect-time", "0"] : [];
  await using node = await StoreNode.start({ endpoint, prefix, intervalS: INTERVAL_S, flags });
  await using fleet = await startFleet(node, { boats, rate });
  fleet.begin();
  await sleep(SETTLE_MS);
  const [beginMs, beginCpuMs] = [performance.now(), cpuMs(node.pid)];
  let storedWaitMs = 0;
  while (performance.now() < beginMs + MEASURE_MS) {
    await sleep(LOOK_MS);
    storedWaitMs = Math.max(storedWaitMs, fleet.sample().objectWaitMs);
  }
  const cpu = (cpuMs(node.pid) - beginCpuMs) / (performance.now() - beginMs) * 100;
  return { cpu, rssMb: rssMb(node.pid), storedWaitMs };
}

async function startCeph(): Promise<Ceph> {
  const ceph = await Ceph.start({ osds: 3 });
  await ceph.createBucket(STORE_BUCKET);
  return ceph;
}

/** What boats that stream cost a node with an object store, and one with files on the local disk. */
export async function storeBench(): Promise<void> {
  await using ceph = await startCeph();
  // Boats that are read send 50 messages/s.
  for (const isRead of [true, false]) {
    const what = `${FEW} boats with ${RATE} frames/s, ${isRead ? "read" : "not read"}`;
    const local = await load(undefined, { boats: FEW, rate: RATE, isRead });
    report({ name: `${what}, local disk: CPU`, value: local.cpu, unit: "% of a core" });
    const stored = await load(ceph.endpoint, { boats: FEW, rate: RATE, isRead });
    report({ name: `${what}, object store: CPU`, value: stored.cpu, unit: "% of a core" });
    report({ name: `${what}: against local disk`, value: stored.cpu / local.cpu, unit: "×", bar: "<= 1.2" });
    const bar = `<= ${INTERVAL_S + 5}`;
    const waitS = stored.storedWaitMs / 1000;
    report({ name: `${what}, interval ${INTERVAL_S} s: longest wait`, value: waitS, unit: "s", bar });
    if (!isRead) continue;
    for (const [name, endpoint, few] of [["local disk", undefined, local], ["store", ceph.endpoint, stored]] as const) {
      const many = await load(endpoint, { boats: MANY, rate: RATE / 4, isRead });
      report({ name: `${name}: a live boat`, value: (many.rssMb - few.rssMb) / (MANY - FEW), unit: "MB", bar: "<= 1" });
    }
  }
}

const BOAT = "boat-001";
/** Objects of a boat and year, and frames in each of those that are not the last day's. */
const YEAR_OBJECTS = 1800;
const SMALL_FRAMES = 50;
const AT_ONCE = 16;
const ROUNDS = 3;

/** What a boat with a year in the store costs a node that has just started with an empty disk. */
export async function storeReadBench(): Promise<void> {
  await using ceph = await startCeph();
  const { endpoint } = ceph;
  const folder = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  try {
    using store = await openStore({ url: `s3://${STORE_BUCKET}/fleet`, endpoint, credentials: CEPH_WRITER });
    const small = YEAR_OBJECTS * SMALL_FRAMES;
    await Deno.mkdir(`${folder}/data/${BOAT}`, { recursive: true });
    const epoch = await writeDay(`${folder}/data/${BOAT}`, { firstSeq: small + 1, isHourly: false });
    const { head } = await storeDay({ folder, store });
    await storeSmall({ folder, epoch, store });
    for (let round = 0; round < ROUNDS; round++) {
      await using cloud = await CloudFixture.start(`${folder}/node-${round}`, {
        frameStore: { store, cache: new ObjectCache({ store }) },
      });
      const client = await cloud.client(BOAT);
      const startMs = performance.now();
      const { response } = await client.handshake(request({ instanceId: BOAT, epoch, headSeq: head }), TIMEOUT);
      if (response.holes.length > 0) throw new Error(`The store lacks frames: ${JSON.stringify(response.holes)}`);
      const ms = performance.now() - startMs;
      report({ name: `handshake, ${YEAR_OBJECTS} objects in the store`, value: ms, unit: "ms", bar: "<= 300" });
    }
    for (let round = 0; round < ROUNDS; round++) {
      await using node = await StoreNode.start({ endpoint });
      for (const kind of ["cold", "again"]) {
        const { wholeMs, bytes } = await ask(`${node.url}/instances/${BOAT}/history?${HOUR_QUERY}`);
        if (bytes < HOUR_BYTES) throw new Error(`The history has ${bytes} bytes`);
        const name = `history, one hour of one PGN from the store: ${kind}`;
        report({ name, value: wholeMs, unit: "ms", ...kind === "cold" && { bar: "<= 1000" } });
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Place {
  folder: string;
  store: Awaited<ReturnType<typeof openStore>>;
}

/** Copies the day into the store; returns its last number. */
async function storeDay({ folder, store }: Place): Promise<{ head: number }> {
  const dataDirectory = `${folder}/data`;
  await storeBoat({ id: BOAT, dataDirectory, store, onBytes: () => {}, log: silentLogger });
  const objects = new BoatObjects({ id: BOAT, store });
  await objects.list();
  return { head: objects.storedOf(objects.epochs.at(-1) ?? "").last ?? 0 };
}

/** Stores the other objects of the year: small ones, because only their number matters. */
async function storeSmall({ folder, epoch, store }: Place & { epoch: Uint8Array<ArrayBuffer> }): Promise<void> {
  const directory = `${folder}/small`;
  await Deno.mkdir(directory);
  const { writer } = makeWriter(directory, { epoch });
  for (let i = 0; i < YEAR_OBJECTS; i++) {
    appendRange(writer, 1 + i * SMALL_FRAMES, (i + 1) * SMALL_FRAMES);
    await writer.rotate();
  }
  await writer.close();
  const objects = new BoatObjects({ id: BOAT, store });
  await objects.list();
  const { files } = await JournalIndex.open(directory, { log: silentLogger });
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.pop(); file; file = waiting.pop()) await objects.putFile(file.path, { epoch });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await objects.saveTimes();
}
