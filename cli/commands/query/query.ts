/**
 * `vbg query`: SQL over a recording.
 *
 * @module
 */
import { errorText, systemClock } from "@vessel/gateway/base";
import { serverContextOf } from "../../client/server_command.ts";
import { advised } from "../../client/server_advice.ts";
import {
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { readTimestamp } from "../../settings/option_types.ts";
import { timeOf } from "../../client/time_option.ts";
import { type Around, installPackage, runChild } from "./child.ts";
import type { TimeRange } from "./contents.ts";
import type { QueryJob } from "./job.ts";
import { queryChecks, queryOptions, type QuerySettings } from "./options.ts";
import { printedResult, resultFile } from "./result.ts";
import { saveJournal } from "./server_journal.ts";

/** Name, operands and settings of `vbg query`. */
export const program: Program<QuerySettings> = {
  name: "vbg query",
  summary: "runs SQL (DuckDB) over journal files (.lpj) and directories, or over the journal of a server",
  options: queryOptions,
  checks: queryChecks,
  positionals: "'SQL' [FILE|DIR ...]",
};

/** Without `-from`, a server is asked for this much. */
const SERVER_HOURS = { kind: "ago", ms: 3_600_000 } as const;

/** Runs `vbg query`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, words) => {
      const around = { environment: context.environment, signal: stopSignalOf(context) };
      if (settings.install) return await install(context, around);
      const { tables } = settings;
      const [sql, paths] = tables ? [undefined, [...words]] : [words[0], words.slice(1)];
      if (sql === undefined && !tables) throw new UsageError("Missing query: expected SQL in quotes");
      await checkInputs(paths, settings);
      const isServer = paths.length === 0;
      const times = timesOf(settings, { isServer });
      const temporary = await Deno.makeTempDir({ prefix: "vbg_query_" });
      try {
        const inputs = isServer ? await fetchJournal(settings, { times, context, temporary, around }) : paths;
        return await answer(settings, { sql, inputs, times, temporary, context, around });
      } finally {
        await Deno.remove(temporary, { recursive: true });
      }
    },
  });
}

async function checkInputs(paths: readonly string[], { server, boat, cloud }: QuerySettings): Promise<void> {
  if (paths.length > 0 && (server !== undefined || boat !== undefined || cloud)) {
    throw new UsageError("Cannot use files with -server, -boat or -cloud");
  }
  for (const path of paths) {
    await Deno.stat(path).catch((error) => {
      throw new SettingsError(`Cannot read "${path}": ${errorText(error)}`);
    });
  }
}

async function install(context: ProgramContext, around: Around): Promise<number> {
  const say = (text: string) => context.printError(`${program.name}: ${text}`);
  say("downloading DuckDB, which takes 140 MB on disk");
  await installPackage(around);
  const version = await versionOf(around);
  context.print(`DuckDB ${version} is installed`);
  return EXIT.ok;
}

/** Version of the installed DuckDB. @throws {Error} it cannot be loaded */
async function versionOf(around: Around): Promise<string> {
  let text = "";
  const output = { format: "csv", form: { width: 0, color: false } } as const;
  const job = { sql: "SELECT version()", paths: [], range: {}, output, filesAllowed: false, temporary: "" };
  const { code, messages } = await runChild(job, { write: (piece) => void (text += piece), ...around });
  if (code !== EXIT.ok) throw new Error(messages.at(-1) ?? "Cannot load DuckDB");
  return text.trim().split("\n").at(-1) ?? "";
}

/** Saves the journal of the server in a directory. Returns what to read. */
async function fetchJournal(
  settings: QuerySettings,
  { times: { from = "", to }, context, temporary: directory, around }: {
    times: Times;
    context: ProgramContext;
    temporary: string;
    around: Around;
  },
): Promise<string[]> {
  // Nothing is downloaded in vain.
  if (!settings.tables) await versionOf(around);
  const { signal } = around;
  const server = await serverContextOf({ ...settings, json: false }, { context, name: program.name, signal });
  const bar = new Progress({ output: server.status, unit: "bytes", clock: systemClock });
  try {
    const onBytes = (bytes: number) => bar.add(bytes);
    const paths = await saveJournal(server.client, { directory, from, to, signal, onBytes });
    if (paths.length === 0) server.note("the server has recorded nothing in this time");
    return paths;
  } catch (error) {
    throw advised(error);
  } finally {
    bar.done();
  }
}

/** Runs the query on journals, and prints or writes its result. */
async function answer(
  settings: QuerySettings,
  { sql, inputs, times, temporary, context, around }: {
    sql: string | undefined;
    inputs: string[];
    times: Times;
    temporary: string;
    context: ProgramContext;
    around: Around;
  },
): Promise<number> {
  const output = outputOf(context);
  const { out, filesAllowed } = settings;
  const format = settings.format ?? (output.isTerminal && out === undefined ? "table" : "csv");
  const result = out === undefined ? printedResult(output) : await resultFile(out, { inputs });
  let isDone = false;
  try {
    const form = { width: output.columns, color: output.hasColor && out === undefined };
    const job: QueryJob = {
      ...(sql !== undefined && { sql }),
      paths: inputs,
      range: rangeOf(times),
      output: format === "parquet" && result.path !== undefined
        ? { format, path: result.path }
        : { format: format === "parquet" ? "csv" : format, form },
      filesAllowed,
      temporary,
    };
    const { code, messages } = await runChild(job, { write: (text) => result.write(text), ...around });
    for (const message of messages) context.printError(`${program.name}: ${message}`);
    if (code !== EXIT.ok) return EXIT.failure;
    await result.finish();
    isDone = true;
    return EXIT.ok;
  } finally {
    if (!isDone) await result.abandon();
  }
}

/** Times of the first and last wanted frame as RFC 3339; left out: of all. */
interface Times {
  from?: string;
  to?: string;
}

function timesOf({ from, to }: QuerySettings, { isServer }: { isServer: boolean }): Times {
  const nowMs = systemClock.wallUs() / 1000;
  const first = from ?? (isServer ? SERVER_HOURS : undefined);
  return { ...(first && { from: timeOf(first, nowMs) }), ...(to && { to: timeOf(to, nowMs) }) };
}

function rangeOf({ from, to }: Times): Partial<TimeRange> {
  return {
    ...(from !== undefined && { fromUs: readTimestamp(from) }),
    ...(to !== undefined && { toUs: readTimestamp(to) }),
  };
}
