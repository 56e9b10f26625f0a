import { constants, setPriority } from "node:os";
import { startDrains } from "./drains.ts";
import { report } from "./figure.ts";
import { cpuMs, sleep, startProcess } from "./process.ts";
import { carefulClient, percentile } from "./stream_bench.ts";

const FRAMES_PER_SECOND = 2000;
const STREAMS = 50;
const SENDERS = 8;
/** What they may send, messages a second. */
const RATE_LIMIT = 100;
const WARM_UP_MS = 3000;
const MINUTE_MS = 60_000;
const QUICK_MS = 10_000;

/** Figures of the streams while clients send flat out against a rate limit, and of a quiet time before. */
export async function sendBench({ quick }: { quick: boolean }): Promise<void> {
  const server = await startProcess("server.ts", [FRAMES_PER_SECOND, 0, RATE_LIMIT].map(String));
  const port = Number(server.line);
  const drains = await startDrains(port);
  await drains.open(STREAMS - 1);
  const careful = await carefulClient(`http://127.0.0.1:${port}/events`);
  const measure = async (name: string, durationMs: number) => {
    await sleep(WARM_UP_MS);
    careful.delaysMs.length = 0;
    const cpuBefore = cpuMs(server.pid);
    await sleep(durationMs);
    const delays = careful.delaysMs.slice();
    const title = `${FRAMES_PER_SECOND} frames/s to ${STREAMS} event streams, ${name}`;
    report({ name: `${title}: p50 from bus to client`, value: percentile(delays, 0.5), unit: "ms" });
    report({ name: `${title}: p99 from bus to client`, value: percentile(delays, 0.99), unit: "ms", bar: "< 20" });
    const cpu = (cpuMs(server.pid) - cpuBefore) / durationMs * 100;
    report({ name: `${title}: CPU of the server`, value: cpu, unit: "% of a core" });
  };
  await measure("nobody sends", QUICK_MS);
  const flood = await startProcess("send_flood.ts", [port, SENDERS].map(String));
  // Clients elsewhere on the network take no CPU from the server nor from who measures: these get what is left.
  setPriority(flood.pid, constants.priority.PRIORITY_LOW);
  const start = performance.now();
  await measure(`${SENDERS} clients send flat out`, quick ? QUICK_MS : MINUTE_MS);
  const seconds = (performance.now() - start) / 1000;
  await flood.stop();
  const sample = await metricsOf(port);
  const perSecond = (name: string) => sample(name) / seconds;
  const rate = { unit: "messages/s", bar: `<= ${RATE_LIMIT + 1}` };
  report({ name: "sending flat out: accepted", value: perSecond("vbg_send_accepted_total"), ...rate });
  const refused = perSecond(`vbg_send_refused_total{reason="rate"}`);
  report({ name: "sending flat out: refused for the rate", value: refused, unit: "messages/s" });
  report({ name: "sending flat out: gaps seen", value: careful.gaps(), unit: "gaps", bar: "= 0" });
  const dropped = sample("vbg_dropped_deliveries_total");
  report({ name: "sending flat out: deliveries dropped", value: dropped, unit: "frames", bar: "= 0" });
  const longest = sample("vbg_event_loop_longest_stall_seconds") * 1000;
  report({ name: "sending flat out: longest stall of the server's event loop", value: longest, unit: "ms" });
  await drains.close();
  await careful.stop();
  await server.stop();
}

/** Reads metrics: gives the sum of all samples whose name, with or without its labels, is this. */
async function metricsOf(port: number): Promise<(name: string) => number> {
  const lines = (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).split("\n");
  return (name) =>
    lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
