/**
 * `vbg repair`: writes the readable part of a damaged journal into complete files.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { BlockError, JOURNAL_DIRECTORY_MODE } from "@vessel/gateway/journal";
import { errorText, systemClock } from "@vessel/gateway/base";
import { type OutputChoice, outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { bytesOf, count, findFiles, type FoundFile, rangeText } from "../inspect/file.ts";
import { text } from "../../settings/option_types.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
  stoppedBy,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { type RepairedFile, repairFile, type RepairOptions, RepairState } from "./file.ts";
import { repairHeader } from "./header.ts";
import { printable } from "../../program/terminal.ts";

interface RepairSettings extends ProgramSettings, OutputChoice {
  out: string;
}

/** Name, operands and settings of `vbg repair`. */
export const program: Program<RepairSettings> = {
  name: "vbg repair",
  version: VERSION,
  summary:
    "writes what can be read of journal files (.lpj), and of those in directories, into whole files of the same " +
    "names elsewhere, write-ahead logs into files of their own, and tells what was lost; the journal tells it, too, as a gap. What is there is never changed. " +
    "Exit code 1: nothing of a file can be read",
  options: {
    out: text({
      name: "out",
      key: [],
      environment: false,
      placeholder: "DIR",
      default: "",
      help: "Where the files are written; made when missing. No file that is there is written over.",
      group: "Output files",
    }),
    ...outputOptions(),
    ...programOptions(),
  },
  checks: [{
    settings: ["out"],
    severity: "error",
    test: ({ out }) => out === "" ? "Cannot repair without a place for what is whole: expected -out DIR" : undefined,
  }],
  positionals: "FILE|DIR ...",
};

/** Runs `vbg repair`. Returns the exit code. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnce(program, {
    around,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => await repair(settings, { names, around }),
  });
}

async function repair(
  settings: RepairSettings,
  { names, around }: { names: readonly string[]; around: ProgramContext },
): Promise<number> {
  const [output, stopping] = [outputOf(around), stoppedBy(around, { hangUp: true })];
  const found = await findFiles(names);
  const directory = settings.out;
  await requireRoom(found, directory);
  const total = bytesOf(found);
  const progress = new Progress({ output: errorsOf(around), total, unit: "bytes", clock: systemClock });
  const onBytes = (bytes: number) => {
    stopping.throwIfAborted();
    progress.add(bytes);
  };
  const state = new RepairState();
  const files: RepairedFile[] = [];
  try {
    for (const file of found) files.push(await repairOne(file, { directory, name: file.name, state, onBytes }));
  } finally {
    progress.done();
  }
  const text = wantsJson(settings, output) ? formatJson(files) : files.map(describe).join("\n");
  await output.write(`${text}\n`);
  await output.flush();
  return files.every(({ out }) => out !== undefined) ? EXIT.ok : EXIT.failure;
}

/** Checks before writing that no output file exists. */
async function requireRoom(found: readonly FoundFile[], directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
  const taken = new Set<string>();
  for await (const { name } of Deno.readDir(directory)) taken.add(name);
  for (const { name } of found) {
    if (taken.has(name)) throw new SettingsError(`Cannot write "${directory}/${name}": it is there, or comes twice`);
    taken.add(name);
  }
}

async function repairOne({ path, open }: FoundFile, options: RepairOptions): Promise<RepairedFile> {
  try {
    return await repairFile(await open(), options);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    return await repairWithoutHeader(path, { ...options, why: errorText(error) });
  }
}

/** Recovers from the blocks what the header has lost. */
async function repairWithoutHeader(
  path: string,
  { why, ...options }: RepairOptions & { why: string },
): Promise<RepairedFile> {
  const copy = `${options.directory}/.${options.name}.damaged`;
  try {
    await Deno.copyFile(path, copy);
    const file = await repairHeader(copy);
    if (file) {
      const result = await repairFile(file, options);
      const lost = [{ what: `${why}: its header is made anew of what its blocks tell` }, ...result.lost];
      return { ...result, path, lost };
    }
    options.state.lose();
    return { path, out: undefined, blocks: 0, frames: 0, lost: [{ what: why }], missing: [] };
  } finally {
    await Deno.remove(copy).catch(() => {});
  }
}

function describe({ path, out, blocks, frames, lost, missing }: RepairedFile): string {
  const what = out === undefined ? "nothing of it can be read" : `${count(blocks, "block")}, ${count(frames, "frame")}`;
  return [
    `${path}: ${what}${lost.length === 0 ? ", nothing was lost" : ""}`,
    ...lost.map(({ offset, what }) => `  lost: ${offset === undefined ? "" : `byte ${offset}: `}${what}`),
    ...missing.map(({ first, last }) => `  missing: ${rangeText(first, last)} (${count(last - first + 1, "frame")})`),
    ...out === undefined ? [] : [`  written: ${out}`],
  ].map(printable).join("\n");
}

function formatJson(files: readonly RepairedFile[]): string {
  return JSON.stringify({ files: files.map(({ out, ...file }) => ({ ...file, out: out ?? null })) });
}
