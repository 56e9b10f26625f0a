import { fileURLToPath } from "node:url";
import { DumpView } from "../../cli/commands/dump/view.ts";
import { dumpOffline } from "../../cli/commands/dump/offline.ts";
import { BufferedOutput } from "../../cli/program/terminal.ts";
import { systemClock } from "../../src/base/mod.ts";
import { convertRecordings } from "../../src/recordings/mod.ts";
import { inFolder } from "../support/folder.ts";
import { sampleBytes } from "../support/recordings.ts";
import { parseWhere } from "../support/where.ts";
import { report } from "./figure.ts";

/** A recording of a bus of 17 seconds, so many times one after the other: enough that starting counts little. */
const COPIES = 400;
const COPY_SECONDS = 18;
const ROUNDS = 5;
const VBG = fileURLToPath(new URL("../../cli/vbg.ts", import.meta.url));

/** What is asked of `vbg dump -json` on a journal. */
interface Run {
  decode: boolean;
  where: string | undefined;
}

/** With the bar that each has to clear. */
const RUNS: (Run & { name: string; bar: string })[] = [
  { name: "dump", bar: ">= 400000", decode: false, where: undefined },
  { name: "dump -decode", bar: ">= 200000", decode: true, where: undefined },
  { name: "dump -where on a decoded field", bar: ">= 200000", decode: false, where: "heading > 2.3" },
];

/** Frames of a journal as lines of JSON: as fast as they are made, and by the whole command, its start included. */
export async function dumpBench(): Promise<void> {
  await inFolder(async (folder) => {
    const path = `${folder}/bus.lpj`;
    const { messages } = await convertRecordings([{ name: "bus", chunks: ReadableStream.from(copies()) }], {
      to: { kind: "file", path },
    });
    for (const { name, bar, ...run } of RUNS) {
      const made = messages / await fastestSeconds(() => dump(path, run));
      report({ name, value: made, unit: "frames/s", bar });
      const whole = messages / await fastestSeconds(() => runCommand(path, run));
      report({ name: `${name}, the whole command`, value: whole, unit: "frames/s", bar });
    }
  });
}

function* copies(): Generator<Uint8Array<ArrayBuffer>> {
  const text = new TextDecoder().decode(sampleBytes("candump_sample3.txt"));
  const encoder = new TextEncoder();
  for (let copy = 0; copy < COPIES; copy++) {
    const later = (_: string, seconds: string) => `(${Number(seconds) + copy * COPY_SECONDS}`;
    yield encoder.encode(text.replace(/^\((\d+)/gm, later));
  }
}

async function fastestSeconds(run: () => Promise<void>): Promise<number> {
  let fastest = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await run();
    fastest = Math.min(fastest, performance.now() - start);
  }
  return fastest / 1000;
}

async function runCommand(path: string, { decode, where }: Run): Promise<void> {
  const flags = [...(decode ? ["-decode"] : []), ...(where === undefined ? [] : ["-where", where])];
  const args = ["run", "-A", VBG, "dump", "-json", ...flags, path];
  const { success } = await new Deno.Command(Deno.execPath(), { args, stdout: "null" }).output();
  if (!success) throw new Error("Cannot measure: vbg dump failed");
}

async function dump(path: string, { decode, where }: Run): Promise<void> {
  const sink = { write: (bytes: Uint8Array) => Promise.resolve(bytes.length) };
  const output = new BufferedOutput(sink, { isTerminal: false, hasColor: false, columns: () => 80 });
  const chosen = { decode, where: where === undefined ? undefined : parseWhere(where) };
  const view = new DumpView({ ...chosen, output, json: true, changes: false });
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
