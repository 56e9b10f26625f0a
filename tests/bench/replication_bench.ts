import { report } from "./figure.ts";
import { cpuMs, rssMb, sleep } from "./process.ts";
import { BenchCloud, FarMachine, writeHours } from "./replication_parts.ts";
import { carefulClient, percentile } from "./stream_bench.ts";

const BOAT = "boat-1";
const WARM_UP_MS = 5000;
const LIVE_MS = 15_000;
const LIVE_FRAMES_PER_SECOND = 2000;
const FLEET = 100;
const FLEET_SECONDS = 20;
const HOURS_FAST = 40;
const HOURS_OUTAGE = 24;
/** Frames a second while a boat fills what it missed. */
const CALM_FRAMES_PER_SECOND = 200;
const SLOW_LINK = "tbf rate 10mbit burst 32kb latency 400ms";
/** The cloud has a core for itself; boats have the others. */
const CLOUD_CORE = ["taskset", "-c", "1"];
const FLEET_CORE = ["taskset", "-c", "0"];

/** One boat with a full bus, and a client of the cloud. */
async function benchLive(): Promise<void> {
  await using cloud = await BenchCloud.start([BOAT]);
  const directory = `${cloud.folder}/boat`;
  const boat = await cloud.startBoat(BOAT, { directory, framesPerSecond: LIVE_FRAMES_PER_SECOND });
  try {
    await cloud.until(BOAT, ({ connected, cursor }) => connected && cursor > 0);
    const client = await carefulClient(cloud.eventsUrl(BOAT));
    await sleep(WARM_UP_MS);
    client.delaysMs.length = 0;
    const before = [cpuMs(boat.pid), cpuMs(cloud.process.pid)] as const;
    const startMs = performance.now();
    await sleep(LIVE_MS);
    const elapsedMs = performance.now() - startMs;
    const share = (pid: number, before: number) => (cpuMs(pid) - before) / elapsedMs * 100;
    const name = `${LIVE_FRAMES_PER_SECOND} frames/s from bus to cloud`;
    report({ name: `${name}: CPU of the boat`, value: share(boat.pid, before[0]), unit: "% of a core", bar: "<= 10" });
    const cloudShare = share(cloud.process.pid, before[1]);
    report({ name: `${name}: CPU of the cloud`, value: cloudShare, unit: "% of a core", bar: "<= 8" });
    report({ name: `${name}: p50 to a client`, value: percentile(client.delaysMs, 0.5), unit: "ms" });
    report({ name: `${name}: p99 to a client`, value: percentile(client.delaysMs, 0.99), unit: "ms", bar: "< 50" });
    const rate = client.delaysMs.length / elapsedMs * 1000;
    report({ name: `${name}: frames at the client`, value: rate, unit: "frames/s" });
    report({ name: `${name}: gaps at the client`, value: client.gaps(), unit: "gaps", bar: "= 0" });
    report({ name: `${name}: memory of the cloud`, value: rssMb(cloud.process.pid), unit: "MB" });
    await client.stop();
  } finally {
    await boat.stop();
  }
}

/** Many boats and one core. */
async function benchFleet({ name, framesPerSecond, batchFrames, bar, ackBar }: {
  name: string;
  /** Of each boat; 0: as many as the cloud takes. */
  framesPerSecond: number;
  batchFrames: number;
  bar?: string;
  ackBar?: string;
}): Promise<void> {
  const ids = Array.from({ length: FLEET }, (_, i) => `boat-${i + 1}`);
  const limits = framesPerSecond === 0 ? { rateLimit: 0, maxLiveLagFrames: 0 } : {};
  await using cloud = await BenchCloud.start(ids, { under: CLOUD_CORE, ...limits });
  const cpuBefore = cpuMs(cloud.process.pid);
  const fleet = await cloud.sail({ framesPerSecond, batchFrames, seconds: FLEET_SECONDS, under: FLEET_CORE });
  const busyMs = cpuMs(cloud.process.pid) - cpuBefore;
  let stored = 0;
  for (const id of ids) stored += (await cloud.status(id))?.cursor ?? 0;
  const what = `${FLEET} boats, ${name}`;
  const rate = fleet.frames / fleet.sendingMs * 1000;
  report({ name: what, value: rate, unit: "frames/s", ...(bar && { bar }) });
  report({ name: `${what}: for each second of CPU`, value: fleet.frames / busyMs * 1000, unit: "frames" });
  report({ name: `${what}: lost`, value: fleet.frames - stored, unit: "frames", bar: "= 0" });
  const lag = fleet.ackLagMs / 1000;
  report({ name: `${what}: longest wait for an ACK`, value: lag, unit: "s", ...(ackBar && { bar: ackBar }) });
  report({ name: `${what}: memory of the cloud`, value: rssMb(cloud.process.pid), unit: "MB" });
}

/** What was missed, as fast as it goes. */
async function benchBackfill(): Promise<void> {
  await using cloud = await BenchCloud.start([BOAT]);
  const directory = `${cloud.folder}/boat`;
  const { frames } = await writeHours(directory, { hours: HOURS_FAST, packing: "fast" });
  const boat = await cloud.startBoat(BOAT, { directory, framesPerSecond: 0 });
  try {
    const cpuBefore = [cpuMs(boat.pid), cpuMs(cloud.process.pid)] as const;
    const already = await cloud.until(BOAT, ({ connected }) => connected);
    const startMs = performance.now();
    await cloud.until(BOAT, ({ cursor }) => cursor >= frames);
    const rate = frames / (performance.now() - startMs) * 1000;
    const name = "backfill on this machine";
    report({ name, value: rate, unit: "frames/s", bar: ">= 1000000" });
    if (already.cursor > 0) report({ name: `${name}: there before`, value: already.cursor, unit: "frames" });
    const cost = (pid: number, before: number) => (cpuMs(pid) - before) / frames * 1e6;
    report({ name: `${name}: boat, a million frames`, value: cost(boat.pid, cpuBefore[0]), unit: "CPU ms" });
    report({ name: `${name}: cloud, a million frames`, value: cost(cloud.process.pid, cpuBefore[1]), unit: "CPU ms" });
  } finally {
    await boat.stop();
  }
}

/** A day that was missed, over a slow link, while live goes on. Takes minutes, and root. */
export async function outageBench(): Promise<void> {
  await using machine = await FarMachine.make(SLOW_LINK);
  await using cloud = await BenchCloud.start([BOAT], { host: machine.host });
  const directory = `${cloud.folder}/boat`;
  const { frames, bytes } = await writeHours(directory, { hours: HOURS_OUTAGE, packing: "small" });
  const { under } = machine;
  const boat = await cloud.startBoat(BOAT, { directory, framesPerSecond: CALM_FRAMES_PER_SECOND, under });
  try {
    await cloud.until(BOAT, ({ connected }) => connected);
    const startMs = performance.now();
    await cloud.until(BOAT, ({ received_through: through }) => through > frames);
    const client = await carefulClient(cloud.eventsUrl(BOAT));
    await cloud.until(BOAT, ({ cursor }) => cursor >= frames);
    const seconds = (performance.now() - startMs) / 1000;
    const name = "a missed day over 10 Mbit/s";
    report({ name: `${name}: frames`, value: frames, unit: "frames" });
    report({ name: `${name}: blocks of the journal`, value: bytes / 1e6, unit: "MB" });
    report({ name, value: seconds, unit: "s", bar: "< 60" });
    // Data that changes more take more room: a day of the simulated boat has 2.4 MB an hour.
    const minute = bytes / 1e6 / seconds * 60;
    report({ name: `${name}: journal that comes in a minute`, value: minute, unit: "MB", bar: ">= 58" });
    report({ name: `${name}: use of the link`, value: bytes * 8 / seconds / 1e6, unit: "Mbit/s" });
    report({ name: `${name}: live, p50`, value: percentile(client.delaysMs, 0.5), unit: "ms" });
    report({ name: `${name}: live, p99`, value: percentile(client.delaysMs, 0.99), unit: "ms" });
    report({ name: `${name}: live, longest`, value: Math.max(...client.delaysMs), unit: "ms", bar: "< 1000" });
    await client.stop();
  } finally {
    await boat.stop();
  }
}

/** Figures of boats that replicate to a cloud, each a process of its own. */
export async function replicationBench(): Promise<void> {
  await benchLive();
  // What comes within 20 ms boats send together.
  await benchFleet({ name: "200 frames/s each", framesPerSecond: 200, batchFrames: 4, ackBar: "< 6" });
  await benchFleet({ name: "as many as one core takes", framesPerSecond: 0, batchFrames: 100, bar: ">= 200000" });
  await benchBackfill();
}
