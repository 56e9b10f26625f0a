import { fileURLToPath } from "node:url";
import { inFolder } from "../support/folder.ts";
import { FRAMES_AN_HOUR, HOURS, writeDay } from "./day.ts";
import { report } from "./figure.ts";
import { rssMb, sleep } from "./process.ts";

const VBG = fileURLToPath(new URL("../../cli/vbg.ts", import.meta.url));
/** Flags of the installed program. */
const RUN_FLAGS = ["run", "-A", "--no-check", "--v8-flags=--max-semi-space-size=4"];
const SAMPLE_MS = 50;
const MEMORY_BAR = "<= 300";

/** What a day is exported to, with the bars of the time. */
const EXPORTS: { name: string; out: string; args?: string[]; bar?: string }[] = [
  { name: "csv", out: "day.csv", bar: "<= 20" },
  { name: "csv, a file for each PGN", out: "csv/" },
  { name: "csv of one PGN, one row a minute", out: "wind.csv", args: ["-pgn", "130306", "-interval", "1m"] },
  { name: "parquet", out: "day.parquet", bar: "<= 60" },
  { name: "parquet, a file for each PGN", out: "parquet/", args: ["-format", "parquet"] },
  { name: "pcap", out: "day.pcap" },
  { name: "candump", out: "day.log" },
  { name: "canboat", out: "day.jsonl" },
];

/** `vbg export` of a day of 200 messages a second, the start of the program included. */
export async function exportBench(): Promise<void> {
  await inFolder(async (folder) => {
    const journal = `${folder}/journal`;
    await Deno.mkdir(journal);
    await writeDay(journal);
    for (const { name, out, args = [], bar } of EXPORTS) {
      const path = `${folder}/${out}`;
      const { seconds, peakMb } = await run([journal, "-out", path, "-quiet", ...args]);
      report({ name: `export ${name}`, value: seconds, unit: "s", ...(bar !== undefined && { bar }) });
      report({ name: `export ${name}, messages`, value: HOURS * FRAMES_AN_HOUR / seconds, unit: "messages/s" });
      report({ name: `export ${name}, memory`, value: peakMb, unit: "MB", bar: MEMORY_BAR });
      report({ name: `export ${name}, size`, value: await bytesOf(path) / 1e6, unit: "MB" });
      await Deno.remove(path, { recursive: true });
    }
  });
}

async function run(args: string[]): Promise<{ seconds: number; peakMb: number }> {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), { args: [...RUN_FLAGS, VBG, "export", ...args] }).spawn();
  let isRunning = true;
  const ended = child.status.finally(() => isRunning = false);
  let peakMb = 0;
  while (isRunning) {
    peakMb = Math.max(peakMb, memoryOf(child.pid));
    await Promise.race([sleep(SAMPLE_MS), ended]);
  }
  const { success } = await ended;
  if (!success) throw new Error("Cannot measure: vbg export failed");
  return { seconds: (performance.now() - start) / 1000, peakMb };
}

/** Megabytes; 0 of a process that has just ended. */
function memoryOf(pid: number): number {
  try {
    return rssMb(pid) || 0;
  } catch {
    return 0;
  }
}

async function bytesOf(path: string): Promise<number> {
  const { isFile, size } = await Deno.stat(path);
  if (isFile) return size;
  let sum = 0;
  for await (const { name } of Deno.readDir(path)) sum += (await Deno.stat(`${path}/${name}`)).size;
  return sum;
}
