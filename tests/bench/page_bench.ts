import assets from "../../src/http/page/assets.gen.json" with { type: "json" };
import { type Figure, report } from "./figure.ts";
import { MeasuredPage } from "./page_browser.ts";
import { type BenchProcess, cpuMs, sleep, startProcess } from "./process.ts";
import { percentile } from "./stream_bench.ts";

const LOADS = 5;
const WARM_UP_MS = 3000;
const MEASURE_MS = 10_000;
const SAMPLE_MS = 10_000;
/** Highest share of a core, by messages a second. */
const RATES = [{ rate: 300, bar: "<= 15" }, { rate: 2000, bar: "<= 50" }];
/** Views, and what is clicked there. */
const VIEWS = [
  { name: "Now", hash: "now" },
  { name: "Bus, newest of each", hash: "bus" },
  { name: "Bus, in order", hash: "bus", click: "text=In order" },
  { name: "Devices", hash: "devices" },
];

async function withServer(rate: number, run: (server: BenchProcess, url: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  const server = await startProcess("page_server.ts", [directory, String(rate)]);
  try {
    await sleep(WARM_UP_MS);
    await run(server, `http://127.0.0.1:${server.line}`);
  } finally {
    await server.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

/** CPU of a process over a time, percent of a core. */
async function cpuOf(pid: number): Promise<number> {
  const [before, startMs] = [cpuMs(pid), performance.now()];
  await sleep(MEASURE_MS);
  return 100 * (cpuMs(pid) - before) / (performance.now() - startMs);
}

/** Clients that the server sends events to. */
async function openStreams(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return [...metrics.matchAll(/^vbg_streams\S* (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function benchLoads(url: string): Promise<void> {
  const [paints, values]: [number[], number[]] = [[], []];
  for (let i = 0; i < LOADS; i++) {
    await using page = await MeasuredPage.open(url);
    paints.push(page.firstPaintMs);
    values.push(page.firstValueMs);
  }
  report({ name: "page, first paint", value: percentile(paints, 0.5), unit: "ms", bar: "<= 1000" });
  report({ name: "page, first value", value: percentile(values, 0.5), unit: "ms", bar: "<= 2000" });
}

async function benchViews(server: BenchProcess, { url, rate, bar }: { url: string; rate: number; bar: string }) {
  const tell = (what: string, figure: Omit<Figure, "name">) =>
    report({ name: `page, ${rate} messages/s, ${what}`, ...figure });
  tell("CPU of the server without a page", { value: await cpuOf(server.pid), unit: "% of a core" });
  tell("event streams without a page", { value: await openStreams(url), unit: "streams" });
  await using page = await MeasuredPage.open(url);
  await sleep(WARM_UP_MS);
  tell("CPU of the server with a page", { value: await cpuOf(server.pid), unit: "% of a core" });
  for (const { name, hash, click } of VIEWS) {
    await page.show(hash);
    if (click) await page.click(click);
    await sleep(WARM_UP_MS);
    const { renderer, gpu } = await page.cpu(MEASURE_MS);
    tell(`${name}: CPU of the renderer`, { value: renderer, unit: "% of a core", bar });
    tell(`${name}: CPU of the GPU process`, { value: gpu, unit: "% of a core" });
    const intervals = await page.frames(MEASURE_MS / 2);
    tell(`${name}: p50 between animation frames`, { value: percentile(intervals, 0.5), unit: "ms" });
    tell(`${name}: p95 between animation frames`, { value: percentile(intervals, 0.95), unit: "ms", bar: "<= 33" });
    tell(`${name}: event streams`, { value: await openStreams(url), unit: "streams", bar: "<= 1" });
  }
}

/**
 * JavaScript heap of the view Now over a time, always after a garbage collection.
 *
 * @param options.minutes the first one is not in the slope
 */
export async function pageHeapBench({ minutes }: { minutes: number }): Promise<void> {
  await withServer(300, async (_, url) => {
    await using page = await MeasuredPage.open(url);
    const samples: { minute: number; mb: number }[] = [];
    const startMs = performance.now();
    let toldAt = 0;
    for (let minute = 0; minute < minutes;) {
      await sleep(SAMPLE_MS);
      minute = (performance.now() - startMs) / 60_000;
      const mb = await page.heapMb();
      samples.push({ minute, mb });
      if (minute < toldAt + 1) continue;
      toldAt = Math.floor(minute);
      report({ name: `page, heap after ${toldAt} min`, value: mb, unit: "MB" });
    }
    const settled = samples.filter(({ minute }) => minute >= 1);
    report({ name: `page, slope of the heap over ${minutes} min`, value: 60 * slope(settled), unit: "MB/h" });
  });
}

/** Megabytes a minute, by least squares. */
function slope(samples: readonly { minute: number; mb: number }[]): number {
  const meanOf = (values: number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  const minute = meanOf(samples.map((each) => each.minute));
  const mb = meanOf(samples.map((each) => each.mb));
  return meanOf(samples.map((each) => (each.minute - minute) * (each.mb - mb))) /
    meanOf(samples.map((each) => (each.minute - minute) ** 2));
}

/** Size, start and CPU of the page in a real browser. */
export async function pageBench(): Promise<void> {
  const packed = assets.reduce((sum, { gzip }) => sum + gzip.length * 3 / 4, 0);
  report({ name: "page, all files packed", value: packed / 1000, unit: "KB", bar: "<= 150" });
  for (const { rate, bar } of RATES) {
    await withServer(rate, async (server, url) => {
      if (rate === RATES[0]?.rate) await benchLoads(url);
      await benchViews(server, { url, rate, bar });
    });
  }
  await pageHeapBench({ minutes: 3 });
}
