/**
 * `vbg dump`: shows live frames of a boat, or frames of recordings.
 *
 * @module
 */
import type { FrameRecorder } from "@vessel/gateway";
import { formatDuration, Logger, systemClock } from "@vessel/gateway/base";
import { loadClientConfig } from "../../client/client_config.ts";
import { filterOf, unitsOf, wantsJson } from "../../client/client_options.ts";
import { advised } from "../../client/server_advice.ts";
import { serverContextOf } from "../../client/server_command.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import { type Output, printLine } from "../../program/terminal.ts";
import { LiveView } from "./live.ts";
import { dumpChecks, dumpOptions, type DumpSettings, retryOf } from "./options.ts";
import { dumpSession } from "./session.ts";
import { isStoreUrl } from "../../settings/store_endpoint.ts";
import { DumpView } from "./view.ts";

/** Name, operands and settings of `vbg dump`. */
export const program: Program<DumpSettings> = {
  name: "vbg dump",
  summary: "shows frames of a boat as they come, or those of journals, directories of them, object stores of a cloud " +
    "(s3://BUCKET/PREFIX) and recordings of other programs; - is standard input",
  options: dumpOptions,
  checks: dumpChecks,
  positionals: "[FILE|DIR|URL ...]",
};

/** Runs `vbg dump`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    // Recordings end, live streams do not.
    interrupted: (settings, words) => pathsOf(settings, words).length > 0 ? EXIT.interrupted : EXIT.ok,
    run: (settings, words) => dump(settings, { words, context }),
  });
}

/** Context of a run. */
interface Parts {
  context: ProgramContext;
  output: Output;
  errors: Output;
  view: DumpView;
  signal: AbortSignal;
  note: (text: string) => void;
}

/** The recordings to show; empty: live frames. */
function pathsOf({ file }: DumpSettings, words: readonly string[]): readonly string[] {
  return file === undefined ? words : [file];
}

async function dump(
  settings: DumpSettings,
  { words, context }: { words: readonly string[]; context: ProgramContext },
): Promise<number | void> {
  const problem = findProblem(settings, words);
  if (problem !== undefined) throw new UsageError(problem);
  const paths = pathsOf(settings, words);
  if (settings.inspect) {
    const { json } = settings;
    const args = [...paths, ...json === undefined ? [] : [`-json=${json}`]];
    return await (await import("../inspect/inspect.ts")).run({ ...context, args });
  }
  const [output, errors] = [outputOf(context), errorsOf(context)];
  const json = wantsJson(settings, output);
  const units = unitsOf(settings, output);
  const view = new DumpView({ ...settings, where: settings.where?.where, output, json, units });
  const signal = stopSignalOf(context, { hangUp: settings.journal !== undefined });
  const note = (text: string) => context.printError(`${program.name}: ${text}`);
  const parts = { context, output, errors, view, signal, note };
  try {
    if (paths.length > 0) await showRecordings(settings, { ...parts, paths });
    else await showLive(settings, parts);
  } catch (error) {
    throw advised(error);
  }
}

function findProblem(settings: DumpSettings, words: readonly string[]): string | undefined {
  const { server, boat, cloud, bufferTimeoutMs, reconnectDelayMs, journal, file, inspect, speed, startUs } = settings;
  if (file !== undefined && words.length > 0) return "Cannot use -file with files: name them all as words";
  if (pathsOf(settings, words).length === 0) {
    const recorded = {
      ...{ "-inspect": inspect || undefined, "-speed": speed || undefined, "-start": startUs },
      "-store-endpoint": settings.storeEndpoint || undefined,
    };
    const [flag] = Object.entries(recorded).find(([, value]) => value !== undefined) ?? [];
    return flag === undefined ? undefined : `Cannot use ${flag} without a recording: expected FILE or DIR`;
  }
  const live = {
    "-server": server,
    "-boat": pathsOf(settings, words).every(isStoreUrl) ? undefined : boat,
    "-cloud": cloud || undefined,
    "-buffer-timeout": bufferTimeoutMs,
    "-reconnect-delay": reconnectDelayMs,
  };
  const [flag] = Object.entries(live).find(([, value]) => value !== undefined) ?? [];
  if (flag !== undefined) return `Cannot use ${flag} with files: they are read without a server`;
  return journal === undefined ? undefined : "Cannot use -journal with files: vbg convert makes journals of recordings";
}

async function showRecordings(
  settings: DumpSettings,
  { paths, context, output, errors, view, signal, note }: Parts & { paths: readonly string[] },
): Promise<void> {
  const config = await loadClientConfig({ path: settings.config, environment: context.environment });
  const exclusions = { exclude_pgn: [...config.exclude.pgns], exclude_name: [...config.exclude.names] };
  const { quiet, speed, startUs, boat, storeEndpoint } = settings;
  const progressOutput = errors.isTerminal && !output.isTerminal && !quiet ? errors : undefined;
  const filter = filterOf(settings, exclusions);
  const { dumpOffline } = await import("./offline.ts");
  const pace = { speed, startUs, isQuiet: quiet };
  const store = { boat, endpoint: storeEndpoint };
  await dumpOffline({ paths, store, filter, view, note, signal, clock: systemClock, progressOutput, ...pace });
}

async function showLive(settings: DumpSettings, { context, output, view, signal, note }: Parts): Promise<void> {
  const options = {
    retry: settings.reconnect ? retryOf(settings) : { retries: 0 },
    // The signal that ends the reading must not abort the last acknowledgement.
    signal: new AbortController().signal,
  };
  const server = await serverContextOf(settings, { context, name: program.name, signal, options });
  const { client, serverText } = server;
  const filter = filterOf(settings, server.exclusions);
  const recorder = await openRecorder(settings);
  try {
    const live = new LiveView({ client, view, note, isQuiet: settings.quiet, serverText, filter, recorder });
    const { bufferTimeoutMs, ackIntervalMs } = settings;
    if (bufferTimeoutMs === undefined) await live.run(client.subscribe(filter, { devices: true }).events(), signal);
    else {
      const id = settings.clientId ?? defaultClientId();
      const settle = async () => {
        await output.flush();
        await recorder?.sync();
      };
      const bufferTimeout = formatDuration(bufferTimeoutMs);
      await dumpSession({ client, id, bufferTimeout, ackIntervalMs, filter, live, settle, signal });
    }
  } finally {
    await recorder?.close();
  }
}

async function openRecorder({ journal }: DumpSettings): Promise<FrameRecorder | undefined> {
  if (journal === undefined) return undefined;
  const { FrameRecorder } = await import("@vessel/gateway");
  return await FrameRecorder.open({
    directory: journal,
    log: new Logger({ level: "warn", format: "text", write: (line) => printLine(line, "errors") }),
  });
}

/** Host name, reduced to the characters allowed in ids. */
function defaultClientId(): string {
  return `vbg-${Deno.hostname()}`.replace(/[^\w-]/g, "-").slice(0, 64);
}
