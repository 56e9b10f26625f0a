import { Drains } from "./drains.ts";
import { report } from "./figure.ts";
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

/** CPU of the server with so many event streams at a full bus, and the delay one client sees meanwhile. */
async function benchStreams(
  clients: number,
  { cpuBar, decode = false }: { cpuBar?: string; decode?: boolean },
): Promise<void> {
  const query = decode ? "?decode=true" : "";
  const server = await startProcess("server.ts", [String(FRAMES_PER_SECOND)]);
  const port = Number(server.line);
  const drains = new Drains();
  for (let i = 1; i < clients; i++) drains.open(port, query);
  const careful = await carefulClient(`http://127.0.0.1:${port}/events${query}`);
  await sleep(WARM_UP_MS);
  careful.delaysMs.length = 0;
  drains.takeBytes();
  const cpuBefore = cpuMs(server.pid);
  const start = performance.now();
  await sleep(MEASURE_MS);
  const elapsedMs = performance.now() - start;
  const cpu = (cpuMs(server.pid) - cpuBefore) / elapsedMs * 100;
  const name = `${FRAMES_PER_SECOND} ${decode ? "decoded " : ""}frames/s to ${clients} event streams`;
  report({ name: `${name}: CPU of the server`, value: cpu, unit: "% of a core", ...(cpuBar && { bar: cpuBar }) });
  report({ name: `${name}: p50 from bus to client`, value: percentile(careful.delaysMs, 0.5), unit: "ms" });
  report({
    name: `${name}: p99 from bus to client`,
    value: percentile(careful.delaysMs, 0.99),
    unit: "ms",
    bar: "< 10",
  });
  report({ name: `${name}: frames received`, value: careful.delaysMs.length / elapsedMs * 1000, unit: "frames/s" });
  report({ name: `${name}: gaps seen`, value: careful.gaps(), unit: "gaps", bar: "= 0" });
  report({ name: `${name}: bytes to the others`, value: drains.takeBytes() / elapsedMs / 1000, unit: "MB/s" });
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const dropped = [...metrics.matchAll(/^vbg_dropped_deliveries_total\S* (\d+)/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
  report({ name: `${name}: deliveries dropped`, value: dropped, unit: "frames", bar: "= 0" });
  report({ name: `${name}: memory of the server`, value: rssMb(server.pid), unit: "MB" });
  drains.close();
  await careful.stop();
  await server.stop();
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
  await benchStreams(500, { cpuBar: "<= 60" });
}

/** Ten minutes at a full bus with ten clients: memory at the end against memory after one minute. */
export async function soakBench(minutes = 10): Promise<void> {
  const server = await startProcess("server.ts", [String(FRAMES_PER_SECOND)]);
  const port = Number(server.line);
  const drains = new Drains();
  for (let i = 0; i < 10; i++) drains.open(port);
  const perMinute: number[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    await sleep(60_000);
    perMinute.push(rssMb(server.pid));
    report({ name: `soak: memory after ${minute} min`, value: perMinute.at(-1) ?? NaN, unit: "MB" });
  }
  const growth = (perMinute.at(-1) ?? NaN) - (perMinute[0] ?? NaN);
  report({ name: `soak: growth from minute 1 to ${minutes}`, value: growth, unit: "MB", bar: "<= 10" });
  drains.close();
  await server.stop();
}
