/**
 * `vbg convert`: converts recordings of other programs into a journal.
 *
 * @module
 */
import {
  ConvertError,
  type ConvertOptions,
  convertRecordings,
  OutputExistsError,
  type RecordingInput,
} from "@vessel/gateway";
import { errorText, systemClock } from "@vessel/gateway/base";
import { untilStopped } from "../../program/interrupt.ts";
import {
  errorsOf,
  EXIT,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { convertChecks, convertOptions, type ConvertSettings } from "./options.ts";
import { formatJson, formatReport } from "./report.ts";

/** Name, operands and settings of `vbg convert`. */
export const program: Program<ConvertSettings> = {
  name: "vbg convert",
  summary:
    "converts recordings of candump, Yacht Devices, Actisense, canboat or iKonvert to a journal (.lpj), one after " +
    "the other; - is standard input",
  options: convertOptions,
  checks: convertChecks,
  positionals: "FILE ...",
};

/** The input name that means standard input. */
const STDIN = "-";
const JOURNAL_EXTENSION = ".lpj";
/** Errors of the user, as opposed to those of the machine. */
const WRONG_USE: readonly ConvertError["reason"][] = ["format", "journal"];

/** Runs `vbg convert`. Returns the exit code: 2 also if an input is no recording or the output exists. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: (settings, names) => convert(settings, { names, context }),
  });
}

async function convert(
  settings: ConvertSettings,
  { names, context }: { names: readonly string[]; context: ProgramContext },
): Promise<number> {
  const problem = await findProblem(names);
  if (problem !== undefined) throw new UsageError(problem);
  const progress = new Progress({
    ...{ output: errorsOf(context), unit: "bytes", clock: systemClock },
    total: await bytesOfAll(names),
  });
  const stopping = stopSignalOf(context, { hangUp: true });
  const read = (bytes: number) => progress.add(bytes);
  try {
    const inputs = names.map((name) => inputOf(name, { read, stopping }));
    const summary = await convertRecordings(inputs, await optionsOf(settings)).finally(() => progress.done());
    if (settings.json) context.print(formatJson(summary));
    else context.printError(formatReport(summary));
    return summary.files.length > 0 ? EXIT.ok : EXIT.failure;
  } catch (error) {
    stopping.throwIfAborted();
    if (error instanceof OutputExistsError) throw new SettingsError(`${error.message}; -force overwrites it`);
    throw error instanceof ConvertError && WRONG_USE.includes(error.reason) ? new SettingsError(error.message) : error;
  }
}

/** Checks the inputs without opening them, since opening would disturb a pipe. */
async function findProblem(names: readonly string[]): Promise<string | undefined> {
  if (names.length === 0) return "Missing input: expected at least one FILE";
  if (names.filter((name) => name === STDIN).length > 1) return "Cannot read standard input twice";
  for (const name of names.filter((each) => each !== STDIN)) {
    try {
      if ((await Deno.stat(name)).isDirectory) return `Cannot read "${name}": it is a directory`;
    } catch (error) {
      return `Cannot read "${name}": ${errorText(error)}`;
    }
  }
  return undefined;
}

/** Total size of the inputs, bytes; 0 if one has no size, such as a pipe. */
async function bytesOfAll(names: readonly string[]): Promise<number> {
  let sum = 0;
  for (const name of names) {
    const size = name === STDIN ? 0 : (await Deno.stat(name)).size;
    if (size === 0) return 0;
    sum += size;
  }
  return sum;
}

/** How an input is read. */
interface Reading {
  /** Called with the number of bytes of each chunk. */
  read: (bytes: number) => void;
  /** Ends the reading. */
  stopping: AbortSignal;
}

function inputOf(name: string, reading: Reading): RecordingInput {
  if (name === STDIN) return { name: "standard input", chunks: counted(Deno.stdin.readable, reading) };
  return { name, chunks: counted(bytesOf(name), reading) };
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  { read, stopping }: Reading,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of untilStopped(chunks, stopping)) {
    read(chunk.length);
    yield chunk;
  }
}

async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await Deno.open(path);
  yield* file.readable;
}

async function optionsOf({ out, format, force, startUs, ...settings }: ConvertSettings): Promise<ConvertOptions> {
  const isFile = out.endsWith(JOURNAL_EXTENSION) && !await isDirectory(out);
  const to = { kind: isFile ? "file" : "directory", path: out } as const;
  const startTime = startUs === undefined ? undefined : new Date(startUs / 1000);
  return { ...settings, to, startTime, format: format === "auto" ? undefined : format, overwrite: force };
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    // Missing, or an error that the write reports.
    return false;
  }
}
