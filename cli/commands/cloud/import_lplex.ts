/**
 * `vbg-cloud import-lplex`: imports the data directory of an lplex cloud.
 *
 * @module
 */
import { errorText, lockDirectory, silentLogger } from "@vessel/gateway/base";
import { importPeer, PeerImportError, type PeerImportReport } from "@vessel/gateway/cloud";
import type { CommandFile } from "../../program/dispatch.ts";
import { EXIT, type Program, type ProgramContext, runOnce, SettingsError } from "../../program/program.ts";
import { printable } from "../../program/terminal.ts";
import { dataDirOption } from "../../settings/cloud_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import type { SettingsOf } from "../../settings/options.ts";

const options = { dataDir: dataDirOption, ...programOptions };

const program: Program<SettingsOf<typeof options>> = {
  name: "vbg-cloud import-lplex",
  summary: "imports the data directory of an lplex cloud, DIR, which is only read. The cloud must not run. Run it " +
    "again after an interruption. Exit code 1: a boat was not imported",
  options,
  positionals: "DIR",
};

/** `vbg-cloud import-lplex`. */
export const importCommand: CommandFile = {
  program,
  run: (context) =>
    runOnce(program, {
      context,
      run: async ({ dataDir }, words) => {
        const [from, ...others] = words;
        if (from === undefined || others.length > 0) {
          throw new SettingsError(`Cannot import: expected one directory, found ${words.length}`);
        }
        const ids = await boatsIn(from);
        await requireApart(from, dataDir);
        using _held = await lockDirectory(dataDir, { what: "data directory", mode: 0o750 });
        let isGood = true;
        for (const id of ids) {
          isGood = await importOne({ from: `${from}/instances/${id}`, id, dataDirectory: dataDir }, context) && isGood;
        }
        return isGood ? EXIT.ok : EXIT.failure;
      },
    }),
};

/** Imports one boat and prints the report; false if it failed. */
async function importOne(
  source: { from: string; id: string; dataDirectory: string },
  context: ProgramContext,
): Promise<boolean> {
  try {
    const report = await importPeer({ ...source, log: silentLogger });
    context.print(formatReport(report).split("\n").map(printable).join("\n"));
    return true;
  } catch (error) {
    if (!(error instanceof PeerImportError)) throw error;
    context.printError(`${program.name}: ${printable(error.message)}`);
    return false;
  }
}

/** @throws {SettingsError} `directory` is not the data directory of an lplex cloud, or contains no boat */
async function boatsIn(directory: string): Promise<string[]> {
  const ids: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(`${directory}/instances`)) if (isDirectory) ids.push(name);
  } catch (error) {
    throw new SettingsError(`Cannot read "${directory}" as a data directory of lplex-cloud: ${errorText(error)}`);
  }
  if (ids.length === 0) throw new SettingsError(`Cannot import "${directory}": it contains no boat`);
  return ids.sort();
}

/** @throws {SettingsError} the target is inside the source, which is only read */
async function requireApart(from: string, dataDir: string): Promise<void> {
  const [source, target] = [await realPath(from), await realPath(dataDir)];
  if (target !== source && !target.startsWith(`${source}/`)) return;
  throw new SettingsError(`Cannot import "${from}" into itself: give another -data-dir`);
}

/** The real path of a directory that may not exist yet. */
async function realPath(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch (error) {
    const whole = path.replace(/\/+$/, "");
    const cut = whole.lastIndexOf("/");
    if (!(error instanceof Deno.errors.NotFound) || whole === "" || whole === ".") throw error;
    const parent = cut < 0 ? "." : whole.slice(0, cut) || "/";
    return `${await realPath(parent)}/${whole.slice(cut + 1)}`;
  }
}

function formatReport(
  { id, kind, frames, liveFrames, unknownFrames, epochs, missing, damage }: PeerImportReport,
): string {
  return [
    `${id}: ${kind === "same" ? "was imported before, " : ""}${frames} frames in ${epochs} epochs`,
    `  ${frames - liveFrames} from blocks of the boat, ${liveFrames} from files of the live stream`,
    ...unknownFrames > 0 ? [`  ${unknownFrames} of the live stream not used: their numbers are not certain`] : [],
    ...missing > 0 ? [`  ${missing} are missing; the boat is asked for them when it connects`] : [],
    ...damage.map((line) => `  ${line}`),
  ].join("\n");
}
