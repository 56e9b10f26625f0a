/**
 * `vbg-cloud store migrate`: copies boats between a data directory and an object store.
 *
 * @module
 */
import { errorText, lockDirectory, Logger, silentLogger, systemClock } from "@vessel/gateway/base";
import {
  boatsInStore,
  type MigratedBoat,
  MigrationError,
  type ObjectStore,
  openStore,
  restoreBoat,
  storeBoat,
  StoredJournal,
} from "@vessel/gateway/cloud";
import { isInstanceId } from "@vessel/gateway";
import { outputOptions, wantsJson } from "../../client/client_options.ts";
import type { CommandFile } from "../../program/dispatch.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
  stopSignalOf,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { paint, printable } from "../../program/terminal.ts";
import { programOptions } from "../../settings/common_options.ts";
import { OptionGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { audit } from "../audit/compare.ts";
import { findParts, findStoredParts } from "../audit/parts.ts";
import { count } from "../inspect/file.ts";
import { isStoreUrl } from "../../settings/store_endpoint.ts";
import { requireStoreUrl } from "./stored_boat.ts";

const boats = new OptionGroup("Boats");

const options = {
  storeEndpoint: storeEndpointOption,
  boat: boats.text({ name: "boat", placeholder: "ID", help: "Copy this boat only. Default: all." }),
  ...outputOptions,
  ...programOptions,
};

type Settings = SettingsOf<typeof options>;

const program: Program<Settings> = {
  name: "vbg-cloud store migrate",
  summary:
    "copies boats from a data directory into an object store, DIR s3://BUCKET/PREFIX, or back, s3://BUCKET/PREFIX DIR, and " +
    "compares every frame afterwards. Deletes nothing; no cloud may use either meanwhile. Run it again after an " +
    "interruption. Exit code 1: a boat was not copied whole",
  options,
  positionals: "FROM TO",
};

/** `vbg-cloud store migrate`. */
export const migrateCommand: CommandFile = {
  program,
  run: (context) =>
    runOnce(program, {
      context,
      interrupted: EXIT.interrupted,
      run: (settings, words) => migrate(settings, { words, context }),
    }),
};

/** Result for one boat. */
interface Report {
  id: string;
  /** Journal files, or objects, that were copied. */
  files: number;
  /** Frames that both have. */
  frames: number;
  /** Frames that the target lacks, or has otherwise. */
  missing: number;
  different: number;
  /** For people; empty: the boat was copied whole. */
  faults: string[];
}

/** A copy in one direction. */
interface Migration {
  kind: "into" | "back";
  store: ObjectStore;
  url: string;
  directory: string;
}

async function migrate(
  settings: Settings,
  { words, context }: { words: readonly string[]; context: ProgramContext },
): Promise<number> {
  const [from, to, ...others] = words;
  if (from === undefined || to === undefined || others.length > 0 || isStoreUrl(from) === isStoreUrl(to)) {
    throw new SettingsError("Cannot copy: expected a data directory and the URL of a store, FROM TO");
  }
  const [kind, url, directory] = isStoreUrl(to) ? ["into" as const, to, from] : ["back" as const, from, to];
  requireStoreUrl(url);
  if (kind === "into") await requireDirectory(directory);
  using store = await openStore({ url, isReadOnly: kind === "back", endpoint: settings.storeEndpoint || undefined });
  using _held = await lockDirectory(directory, { what: "data directory", mode: 0o750 });
  const migration: Migration = { kind, store, url, directory };
  const ids = kind === "into" ? await boatsIn(directory) : await boatsInStore(store);
  if (settings.boat !== "" && !ids.includes(settings.boat)) {
    throw new SettingsError(`Cannot copy "${settings.boat}": "${from}" has no such boat`);
  }
  if (ids.length === 0) throw new SettingsError(`Cannot copy "${from}": it has no boat`);
  return await copyAll(settings.boat === "" ? ids : [settings.boat], { migration, settings, context });
}

async function copyAll(
  ids: readonly string[],
  { migration, settings, context }: { migration: Migration; settings: Settings; context: ProgramContext },
): Promise<number> {
  const [output, isJson] = [outputOf(context), wantsJson(settings, outputOf(context))];
  const signal = stopSignalOf(context, { hangUp: false });
  const progress = new Progress({ output: errorsOf(context), unit: "bytes", clock: systemClock });
  const onBytes = (bytes: number) => {
    signal.throwIfAborted();
    progress.add(bytes);
  };
  const reports: Report[] = [];
  try {
    for (const id of ids) {
      const report = await copyBoat(id, { migration, onBytes, signal });
      reports.push(report);
      if (isJson) continue;
      progress.done();
      await output.write(`${describe(report, output)}\n`);
    }
  } finally {
    progress.done();
  }
  const faulty = reports.filter(({ faults }) => faults.length > 0).length;
  if (isJson) await output.write(`${JSON.stringify({ ok: faulty === 0, boats: reports })}\n`);
  else if (faulty === 0) await output.write(`${nextStep(migration)}\n`);
  return faulty === 0 ? EXIT.ok : EXIT.failure;
}

function nextStep({ kind, url, directory }: Migration): string {
  return kind === "into"
    ? `All frames are in the store. Start the cloud with -store ${url}; it deletes the files of "${directory}" that the ` +
      "store has"
    : `All frames are in "${directory}". Start the cloud without -store`;
}

async function copyBoat(
  id: string,
  { migration: { kind, store, directory }, onBytes, signal }: {
    migration: Migration;
    onBytes: (bytes: number) => void;
    signal: AbortSignal;
  },
): Promise<Report> {
  const failures: string[] = [];
  const log = new Logger({ level: "error", format: "text", write: (line) => failures.push(line.trim()) });
  const copy = kind === "into" ? storeBoat : restoreBoat;
  let copied: MigratedBoat = { files: 0, faults: [] };
  try {
    copied = await copy({ id, dataDirectory: directory, store, onBytes, log, signal });
  } catch (error) {
    // A boat that was copied before is compared.
    if (!(error instanceof MigrationError)) throw error;
    failures.push(error.message);
  }
  const local = await findParts(`${directory}/${id}`);
  const stored = await findStoredParts(await StoredJournal.open(store, { id, log: silentLogger, signal }));
  const [source, target] = kind === "into" ? [local, stored] : [stored, local];
  const { epochs } = await audit({ boat: source, cloud: target });
  const sum = (of: (epoch: typeof epochs[number]) => number) => epochs.reduce((total, each) => total + of(each), 0);
  const [missing, different] = [sum((each) => each.missing.count), sum((each) => each.different.count)];
  const faults = [...copied.faults];
  if (missing > 0) faults.push(`${count(missing, "frame")} missing: ${epochs.map((each) => each.missing).join(", ")}`);
  if (different > 0) {
    faults.push(`${count(different, "frame")} different: ${epochs.map((each) => each.different).join(", ")}`);
  }
  // What could not be copied again does not matter where every frame is there.
  if (faults.length > 0) faults.unshift(...failures);
  return { id, files: copied.files, frames: sum(({ same }) => same), missing, different, faults };
}

/** The boats of a data directory, sorted by id. */
async function boatsIn(directory: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (isDirectory && isInstanceId(name)) ids.push(name);
  }
  return ids.sort();
}

/** @throws {SettingsError} there is no such directory: a wrong path must not become an empty data directory */
async function requireDirectory(directory: string): Promise<void> {
  try {
    for await (const _ of Deno.readDir(directory)) break;
  } catch (error) {
    throw new SettingsError(`Cannot read "${directory}": ${errorText(error)}`);
  }
}

function describe({ id, files, frames, faults }: Report, style: { hasColor: boolean }): string {
  const verdict = faults.length === 0
    ? paint(style, "green", "OK")
    : paint(style, "red", count(faults.length, "error"));
  const copied = files === 0 ? "nothing new" : `${count(files, "file")} copied`;
  return [
    `${id}: ${copied}, ${count(frames, "frame")} on both sides: ${verdict}`,
    ...faults.map((fault) => `  ${paint(style, "red", "error")}: ${printable(fault)}`),
  ].join("\n");
}
