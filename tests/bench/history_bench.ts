import { writeDay } from "./day.ts";
import { report } from "./figure.ts";
import { rssMb, sleep, startProcess } from "./process.ts";

/** One hour of one PGN of the day. */
export const HOUR_QUERY = "from=2026-01-01T12:00:00Z&to=2026-01-01T13:00:00Z&pgn=127488&limit=1000000";
/** Bytes that its answer has at least. */
export const HOUR_BYTES: number = 70_000 * 100;
const ROUNDS = 5;

/** Highest resident memory that a process has had, megabytes. */
function peakMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1]) / 1024;
}

/** Reads a history; times until its first byte, its first frame and its end, milliseconds. */
export async function ask(url: string): Promise<{ firstMs: number; frameMs: number; wholeMs: number; bytes: number }> {
  const startMs = performance.now();
  const response = await fetch(url);
  let firstMs = 0;
  let frameMs = 0;
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    firstMs ||= performance.now() - startMs;
    // The bracket comes before a frame is found.
    if (bytes > 1) frameMs ||= performance.now() - startMs;
  }
  return { firstMs, frameMs, wholeMs: performance.now() - startMs, bytes };
}

/** Figures of one hour of one PGN out of a day's journal: the first time anybody asks, and again. */
export async function historyBench(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  try {
    await writeDay(directory);
    const server = await startProcess("./history_server.ts", [directory]);
    try {
      await sleep(500);
      const idleMb = rssMb(server.pid);
      const asked = [];
      for (let round = 0; round < ROUNDS; round++) {
        asked.push(await ask(`http://127.0.0.1:${server.line}/history?${HOUR_QUERY}`));
      }
      const [cold] = asked;
      if (!cold || cold.bytes < HOUR_BYTES) throw new Error(`The history has ${cold?.bytes} bytes`);
      const what = "history, one hour of one PGN of 24 h";
      report({ name: `${what}: first byte, cold`, value: cold.firstMs, unit: "ms", bar: "< 50" });
      report({ name: `${what}: first frame, cold`, value: cold.frameMs, unit: "ms" });
      report({ name: `${what}: whole answer, cold`, value: cold.wholeMs, unit: "ms", bar: "< 500" });
      const wholeMs = Math.min(...asked.map((each) => each.wholeMs));
      report({ name: `${what}: whole answer, best of ${ROUNDS}`, value: wholeMs, unit: "ms", bar: "< 500" });
      report({ name: `${what}: RSS growth, peak`, value: peakMb(server.pid) - idleMb, unit: "MB", bar: "< 64" });
    } finally {
      await server.stop();
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
