/**
 * `vbg export`: makes files of other programs out of recordings.
 *
 * @module
 */
import { FileError, systemClock } from "@vessel/gateway/base";
import { EXPORT_FORMATS, type ExportFormatName, formatOfPath, TooManyFilesError } from "@vessel/gateway/export";
import { basename, dirname } from "node:path";
import { loadClientConfig } from "../../client/client_config.ts";
import { filterOf } from "../../client/client_options.ts";
import { timeOf } from "../../client/time_option.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import type { Output } from "../../program/terminal.ts";
import { readTimestamp } from "../../settings/option_types.ts";
import { isStoreUrl } from "../../settings/store_endpoint.ts";
import { count } from "../inspect/file.ts";
import { exportGpx, type GpxPlace } from "./gpx.ts";
import { exportChecks, exportOptions, type ExportSettings } from "./options.ts";
import { OutputFiles } from "./output_files.ts";
import { exportMessages, KnownOrigins, type ReadCounts } from "./run.ts";
import { DirectoryTarget, SingleTarget, type Target, type TargetFile, type TargetParts } from "./targets.ts";

/** Name, operands and settings of `vbg export`. */
export const program: Program<ExportSettings> = {
  name: "vbg export",
  summary: "makes files of other programs out of journals, directories of them, object stores of a cloud " +
    "(s3://BUCKET/PREFIX) and recordings; - is standard input. With exactly one -pgn, and with a directory as -out, the " +
    "columns of a table are the decoded fields, in SI units",
  options: exportOptions,
  checks: exportChecks,
  positionals: "FILE|DIR|URL ...",
};

const US_PER_MS = 1000;

/** Runs `vbg export`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: (settings, paths) => exportRecordings(settings, { paths, context }),
  });
}

/** Where the output goes. */
type Place = { kind: "output" } | { kind: "file" | "directory"; path: string };

async function exportRecordings(
  settings: ExportSettings,
  { paths, context }: { paths: readonly string[]; context: ProgramContext },
): Promise<void> {
  if (paths.length === 0) throw new UsageError("Missing recording: expected at least one FILE, DIR or URL");
  if (settings.boat !== undefined && !paths.some(isStoreUrl)) {
    throw new UsageError("Cannot use -boat without the URL of an object store");
  }
  const [output, errors] = [outputOf(context), errorsOf(context)];
  const note = (text: string) => context.printError(`${program.name}: ${text}`);
  const range = rangeOf(settings);
  const place = await placeOf(settings);
  const name = settings.format ?? (place.kind === "file" ? formatOf(place.path) : undefined) ?? "csv";
  if (name === "gpx") return await exportTracks(settings, { paths, place, range, context });
  const format = EXPORT_FORMATS[name];
  const problem = findProblem(name, { place, isTerminal: output.isTerminal });
  if (problem !== undefined) throw new UsageError(problem);
  const config = await loadClientConfig({ path: settings.config, environment: context.environment });
  const exclusions = { exclude_pgn: [...config.exclude.pgns], exclude_name: [...config.exclude.names] };
  const origins = new KnownOrigins();
  const parts = { format, origins, begin: await format.load() };
  const target = await targetOf(place, { ...parts, settings, output });
  const { intervalMs, boat, storeEndpoint, quiet } = settings;
  const isProgressShown = errors.isTerminal && !quiet && (place.kind !== "output" || !output.isTerminal);
  try {
    const counts = await exportMessages({
      ...{ paths, note, ...range, signal: stopSignalOf(context), clock: systemClock },
      store: { boat, endpoint: storeEndpoint },
      filter: filterOf(settings, exclusions),
      where: settings.where?.where,
      intervalUs: intervalMs === undefined ? undefined : intervalMs * US_PER_MS,
      progressOutput: isProgressShown ? errors : undefined,
    }, { target, origins });
    const files = await target.finish();
    for (const line of reportOf(counts, { files, place, quiet, namesBus: format.namesBus })) note(line);
  } catch (error) {
    await target.abandon();
    throw error instanceof TooManyFilesError ? new SettingsError(error.message) : error;
  }
}

function formatOf(path: string): ExportSettings["format"] {
  return path.endsWith(".gpx") ? "gpx" : formatOfPath(path);
}

async function exportTracks(
  { boat, storeEndpoint: endpoint, force: overwrite, quiet, ...filters }: ExportSettings,
  { paths, place, range, context }: {
    paths: readonly string[];
    place: Place;
    range: ReturnType<typeof rangeOf>;
    context: ProgramContext;
  },
): Promise<void> {
  if (place.kind === "directory") throw new UsageError("Cannot write gpx to a directory: vbg voyages -gpx DIR does");
  if (filters.where || filters.intervalMs !== undefined || Object.keys(filterOf(filters)).length > 0) {
    throw new UsageError("Cannot choose messages with -format gpx: tracks are those of all messages");
  }
  const note = (text: string) => context.printError(`${program.name}: ${text}`);
  const choice = { paths, store: { boat, endpoint }, note, signal: stopSignalOf(context) };
  const target: GpxPlace = place.kind === "output"
    ? { kind: "output", output: outputOf(context) }
    : { kind: "file", files: new OutputFiles(dirname(place.path), { overwrite }), name: basename(place.path) };
  const tracks = await exportGpx(choice, { range, place: target });
  if (place.kind === "file" && !quiet) note(`"${place.path}": ${count(tracks, "track")}`);
}

/** Times of the first and last message, microseconds since 1970. */
function rangeOf({ from, to }: ExportSettings): { fromUs: number | undefined; toUs: number | undefined } {
  const nowMs = systemClock.wallUs() / US_PER_MS;
  const [fromUs, toUs] = [from, to].map((each) => each && readTimestamp(timeOf(each, nowMs)));
  if (fromUs !== undefined && toUs !== undefined && fromUs > toUs) {
    throw new UsageError("Cannot export: -to is before -from");
  }
  return { fromUs, toUs };
}

async function placeOf({ out }: ExportSettings): Promise<Place> {
  if (out === "") return { kind: "output" };
  if (out.endsWith("/")) return { kind: "directory", path: out.replace(/(?<=.)\/+$/, "") };
  const isDirectory = await Deno.stat(out).then((found) => found.isDirectory, () => false);
  return { kind: isDirectory ? "directory" : "file", path: out };
}

function findProblem(
  name: ExportFormatName,
  { place, isTerminal }: { place: Place; isTerminal: boolean },
): string | undefined {
  const { hasTables, isText } = EXPORT_FORMATS[name];
  if (place.kind === "directory" && !hasTables) {
    return `Cannot write ${name} to a directory: only csv and parquet have a table for each PGN; expected -out FILE`;
  }
  if (place.kind === "output" && isTerminal && !isText) return `Cannot show ${name} on a terminal: expected -out FILE`;
  return undefined;
}

async function targetOf(
  place: Place,
  { settings, output, ...parts }: TargetParts & { settings: ExportSettings; output: Output },
): Promise<Target> {
  const pgns = settings.pgn.map(Number);
  const { force: overwrite } = settings;
  switch (place.kind) {
    case "output":
      return await SingleTarget.open(output, { ...parts, pgns });
    case "file": {
      const files = new OutputFiles(dirname(place.path), { overwrite });
      return await SingleTarget.open({ files, name: basename(place.path) }, { ...parts, pgns });
    }
    case "directory":
      await makeDirectory(place.path);
      return new DirectoryTarget(new OutputFiles(place.path, { overwrite }), parts);
  }
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (cause) {
    throw new FileError("create", { path, cause });
  }
}

/** What people should know of the result. Losses are reported always. */
function reportOf(
  { messages, damagedBlocks, buses }: ReadCounts,
  { files, place, quiet, namesBus }: {
    files: readonly TargetFile[];
    place: Place;
    quiet: boolean;
    namesBus: boolean;
  },
): string[] {
  const written = files.reduce((sum, file) => sum + file.messages, 0);
  const lines: string[] = [];
  if (damagedBlocks > 0) lines.push(`${count(damagedBlocks, "damaged block")} skipped`);
  if (messages > written) {
    lines.push(
      `${count(messages - written, "message")} not written: time before 1970 or too late for the format, or no payload`,
    );
  }
  if (!namesBus && buses.size > 1) {
    lines.push(`messages of ${buses.size} buses, which the format does not name: -bus chooses one`);
  }
  if (messages === 0) lines.push("no messages found");
  else if (place.kind !== "output" && !quiet) {
    const where = files.length === 1 ? "" : ` in ${count(files.length, "file")}`;
    lines.push(`"${place.path}": ${count(written, "message")}${where}`);
  }
  return lines;
}
