import { startDrains } from "./drains.ts";
import { type Figure, report } from "./figure.ts";
import { cpuMs, rssMb, sleep, startProcess } from "./process.ts";

const FRAMES_PER_SECOND = 2000;
const WARM_UP_MS = 3000;
const MEASURE_MS = 10_000;

/** Source of what clients send; it says nothing of the time. */
const CLIENTS_SOURCE = 254;

/** Reads frames properly; gives the delay of each from the bus to here, and checks that none is missing. */
export async function carefulClient(
  url: string,
): Promise<{ delaysMs: number[]; gaps: () => number; stop: () => Promise<void> }> {
  const response = await fetch(url);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const delaysMs: number[] = [];
  const bytes = new DataView(new ArrayBuffer(8));
  let rest = "";
  let lastSeq = 0;
  let gaps = 0;
  (async () => {
    while (reader) {
      const { value, done } = await reader.read();
      if (done) return;
      const now = performance.timeOrigin + performance.now();
      const lines = (rest + value).split("\n\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue;
        const { seq, src, data }: { seq: number; src: number; data: string } = JSON.parse(line.slice(6));
        if (lastSeq > 0 && seq !== lastSeq + 1) gaps++;
        lastSeq = seq;
        if (src === CLIENTS_SOURCE) continue;
        bytes.setBigUint64(0, BigInt("0x" + data));
        delaysMs.push(now - bytes.getFloat64(0));
      }
    }
  })().catch(() => {});
  return { delaysMs, gaps: () => gaps, stop: async () => await reader?.cancel() };
}

/** The value that so large a share is below. */
export function percentile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;
}

/** What is measured, and how. */
interface StreamsOptions {
  cpuBar?: string;
  p99Bar?: string;
  decode?: boolean;
  /** Clients whose frames are parsed and timed; the others count bytes. Default 1. */
  careful?: number;
  /** The others take as little of this machine as can be. Default false. */
  isElsewhere?: boolean;
}

/** CPU of the server with so many event streams at a full bus, and the delay that the careful clients see meanwhile. */
export async function benchStreams(
  clients: number,
  { cpuBar, p99Bar = "< 10", decode = false, careful = 1, isElsewhere = false }: StreamsOptions = {},
): Promise<void> {
  const query = decode ? "?decode=true" : "";
  const server = await startProcess("server.ts", [String(FRAMES_PER_SECOND)]);
  const port = Number(server.line);
  const drains = await startDrains(port, { path: `/events${query}`, isElsewhere });
  const timed: Awaited<ReturnType<typeof carefulClient>>[] = [];
  for (let i = 1; i <= careful; i++) {
    // Spread over the streams: those that joined early and late may fare differently.
    await drains.open(
      Math.floor((clients - careful) * i / careful) - Math.floor((clients - careful) * (i - 1) / careful),
    );
    timed.push(await carefulClient(`http://127.0.0.1:${port}/events${query}`));
  }
  await sleep(WARM_UP_MS);
  for (const { delaysMs } of timed) delaysMs.length = 0;
  await drains.take();
  const cpuBefore = { server: cpuMs(server.pid), load: drains.cpuMs() + cpuMs(Deno.pid) };
  const start = performance.now();
  await sleep(MEASURE_MS);
  const elapsedMs = performance.now() - start;
  const shareOf = (usedMs: number) => usedMs / elapsedMs * 100;
  const cpu = shareOf(cpuMs(server.pid) - cpuBefore.server);
  const loadCpu = shareOf(drains.cpuMs() + cpuMs(Deno.pid) - cpuBefore.load);
  const drained = await drains.take();
  const delaysMs = timed.flatMap((each) => each.delaysMs);
  const name = `${FRAMES_PER_SECOND} ${decode ? "decoded " : ""}frames/s to ${clients} event streams${
    isElsewhere ? ", load elsewhere" : ""
  }`;
  const tell = (what: string, figure: Omit<Figure, "name">) => report({ name: `${name}: ${what}`, ...figure });
  tell("CPU of the server", { value: cpu, unit: "% of a core", ...(cpuBar && { bar: cpuBar }) });
  tell("CPU of the clients", { value: loadCpu, unit: "% of a core" });
  tell("p50 from bus to client", { value: percentile(delaysMs, 0.5), unit: "ms" });
  tell("p99 from bus to client", { value: percentile(delaysMs, 0.99), unit: "ms", bar: p99Bar });
  tell("frames received", { value: delaysMs.length / careful / elapsedMs * 1000, unit: "frames/s" });
  tell("gaps seen", { value: timed.reduce((sum, { gaps }) => sum + gaps(), 0), unit: "gaps", bar: "= 0" });
  if (clients > careful) {
    const mean = drained.bytes / (clients - careful);
    tell("bytes to the others", { value: drained.bytes / elapsedMs / 1000, unit: "MB/s" });
    tell("bytes to the one that got least", { value: drained.fewest / mean * 100, unit: "% of the mean", bar: "> 99" });
    tell("streams ended", { value: drained.ended, unit: "streams", bar: "= 0" });
  }
  tell("deliveries dropped", { value: await droppedBy(port), unit: "frames", bar: "= 0" });
  tell("memory of the server", { value: rssMb(server.pid), unit: "MB" });
  await drains.close();
  for (const { stop } of timed) await stop();
  await server.stop();
}

async function droppedBy(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counts = metrics.matchAll(/^vbg_dropped_deliveries_total\S* (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Memory with a full ring. */
async function benchMemory(): Promise<void> {
  const server = await startProcess("server.ts", [String(FRAMES_PER_SECOND), "70000"]);
  await sleep(WARM_UP_MS);
  report({ name: "memory with a full ring", value: rssMb(server.pid), unit: "MB", bar: "<= 120" });
  await server.stop();
}

/** Figures of the whole server, with clients in another process. */
export async function streamBench(): Promise<void> {
  await benchMemory();
  await benchStreams(1, { cpuBar: "<= 15" });
  await benchStreams(100, { cpuBar: "<= 15" });
  await benchStreams(100, { decode: true });
  await benchStreams(500, { cpuBar: "<= 60", p99Bar: "<= 15" });
  await benchStreams(500, { cpuBar: "<= 60", p99Bar: "<= 10", careful: 20, isElsewhere: true });
  await benchStreams(1000, { p99Bar: "<= 30", careful: 20, isElsewhere: true });
}

/** Ten minutes at a full bus with ten clients: memory at the end against memory after one minute. */
export async function soakBench(minutes = 10): Promise<void> {
  const server = await startProcess("server.ts", [String(FRAMES_PER_SECOND)]);
  const port = Number(server.line);
  const drains = await startDrains(port);
  await drains.open(10);
  const perMinute: number[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    await sleep(60_000);
    perMinute.push(rssMb(server.pid));
    report({ name: `soak: memory after ${minute} min`, value: perMinute.at(-1) ?? NaN, unit: "MB" });
  }
  const growth = (perMinute.at(-1) ?? NaN) - (perMinute[0] ?? NaN);
  report({ name: `soak: growth from minute 1 to ${minutes}`, value: growth, unit: "MB", bar: "<= 10" });
  await drains.close();
  await server.stop();
}
