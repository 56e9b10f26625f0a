/**
 * `vbg-cloud import-lplex`: takes over the data directory of an lplex cloud.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway";
import { importPeer, PeerImportError, type PeerImportReport } from "@vessel/gateway/cloud";
import { errorText, lockDirectory, silentLogger } from "@vessel/gateway/settings";
import { dataDirOption } from "./cloud_options.ts";
import type { CommandFile } from "./dispatch.ts";
import { programOptions, type ProgramSettings } from "./common_options.ts";
import { EXIT, type Program, runOnce, SettingsError, type Surroundings } from "./program.ts";
import { printable } from "./terminal.ts";

interface ImportSettings extends ProgramSettings {
  dataDir: string;
}

/** So many lines of what could not be read are printed for a boat. */
const MAX_TOLD = 20;

const program: Program<ImportSettings> = {
  name: "vbg-cloud import-lplex",
  version: VERSION,
  summary: "takes over the data directory of an lplex cloud, DIR, which is only read. The cloud must not run. Run it " +
    "again after an interruption. Exit code 1: a boat was not taken over",
  options: { dataDir: dataDirOption, ...programOptions() },
  checks: [],
  positionals: "DIR",
};

/** `vbg-cloud import-lplex`. */
export const importCommand: CommandFile = {
  program,
  run: (around) =>
    runOnce(program, {
      around,
      run: async ({ dataDir }, words) => {
        const [from, ...others] = words;
        if (from === undefined || others.length > 0) {
          throw new SettingsError(`Cannot tell what to import: expected one directory, found ${words.length}`);
        }
        const ids = await boatsIn(from);
        using _held = await lockDirectory(dataDir, { what: "data directory", mode: 0o750 });
        let isGood = true;
        for (const id of ids) {
          isGood = await importOne({ from: `${from}/instances/${id}`, id, dataDirectory: dataDir }, around) && isGood;
        }
        return isGood ? EXIT.ok : EXIT.failure;
      },
    }),
};

/** Takes one boat over, and prints what became of it. */
async function importOne(
  source: { from: string; id: string; dataDirectory: string },
  around: Surroundings,
): Promise<boolean> {
  try {
    const report = await importPeer({ ...source, log: silentLogger });
    around.print(formatReport(report).split("\n").map(printable).join("\n"));
    return true;
  } catch (error) {
    if (!(error instanceof PeerImportError)) throw error;
    around.complain(`${program.name}: ${printable(error.message)}`);
    return false;
  }
}

/** @throws {SettingsError} it is no data directory of an lplex cloud, or no boat is in it */
async function boatsIn(directory: string): Promise<string[]> {
  const ids: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(`${directory}/instances`)) if (isDirectory) ids.push(name);
  } catch (error) {
    throw new SettingsError(`Cannot read "${directory}" as a data directory of lplex-cloud: ${errorText(error)}`);
  }
  if (ids.length === 0) throw new SettingsError(`Cannot import "${directory}": no boat is in it`);
  return ids.sort();
}

function formatReport(
  { id, kind, frames, liveFrames, unknownFrames, epochs, missing, damage }: PeerImportReport,
): string {
  const told = damage.slice(0, MAX_TOLD).map((line) => `  ${line}`);
  if (damage.length > MAX_TOLD) told.push(`  … and ${damage.length - MAX_TOLD} more`);
  return [
    `${id}: ${kind === "same" ? "was imported before, " : ""}${frames} frames in ${epochs} epochs`,
    `  ${frames - liveFrames} from blocks of the boat, ${liveFrames} from files of the live stream`,
    ...unknownFrames > 0 ? [`  ${unknownFrames} of the live stream not used: their numbers are not certain`] : [],
    ...missing > 0 ? [`  ${missing} are missing; the boat is asked for them when it connects`] : [],
    ...told,
  ].join("\n");
}
