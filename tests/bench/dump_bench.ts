import { DumpView } from "../../cli/dump_view.ts";
import { dumpOffline } from "../../cli/dump_offline.ts";
import { BufferedOutput } from "../../cli/terminal.ts";
import { parseWhere } from "../../cli/where.ts";
import { systemClock } from "../../src/base/mod.ts";
import { convertRecordings } from "../../src/convert/mod.ts";
import { sampleBytes } from "../support/recordings.ts";
import { report } from "./figure.ts";

/** A recording of a bus of 17 seconds, so many times: enough that starting does not count. */
const COPIES = 200;
const ROUNDS = 5;

/** What is asked of `vbg dump -json` on a journal, with the bar that each has to clear. */
const RUNS = [
  { name: "dump", bar: ">= 400000", decode: false, where: undefined },
  { name: "dump -decode", bar: ">= 200000", decode: true, where: undefined },
  { name: "dump -where on a decoded field", bar: ">= 200000", decode: false, where: "heading > 2.3" },
];

/** Frames of a journal as lines of JSON, as fast as they are made; what they are written to takes everything. */
export async function dumpBench(): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/bus.lpj`;
    const bytes = sampleBytes("candump_sample3.txt");
    const inputs = Array.from({ length: COPIES }, (_, i) => ({ name: `${i}`, chunks: ReadableStream.from([bytes]) }));
    const { messages } = await convertRecordings(inputs, { to: { kind: "file", path } });
    for (const { name, bar, decode, where } of RUNS) {
      let best = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const start = performance.now();
        await dump(path, { decode, where: where === undefined ? undefined : parseWhere(where) });
        best = Math.max(best, messages / (performance.now() - start) * 1000);
      }
      report({ name, value: best, unit: "frames/s", bar });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function dump(
  path: string,
  options: { decode: boolean; where: ReturnType<typeof parseWhere> | undefined },
): Promise<void> {
  const sink = { write: (bytes: Uint8Array) => Promise.resolve(bytes.length) };
  const output = new BufferedOutput(sink, { isTerminal: false, hasColor: false, columns: () => 80 });
  const view = new DumpView({ ...options, output, json: true, changes: false });
  await dumpOffline({
    paths: [path],
    filter: {},
    view,
    progressOutput: undefined,
    note: (text) => console.error(text),
    signal: new AbortController().signal,
    clock: systemClock,
  });
  await output.flush();
}
