import { flattenConfig, HoconError, readHocon } from "./hocon.ts";
import type { Options, Problem } from "./options.ts";

/** What the configuration file gives: its values by key, and what is wrong with it. */
export interface ConfigFile {
  /** Where the file is; nothing when there is none. */
  path: string | undefined;
  values: ReadonlyMap<string, unknown>;
  problems: readonly Problem[];
}

/** Where a file without `-config` is looked for after the working directory. */
const SYSTEM_FOLDER = "/etc/vbg";

/** The places where a program looks for its file when `-config` does not name one. */
export function configPlaces(fileName: string): string[] {
  return [`./${fileName}`, `${SYSTEM_FOLDER}/${fileName}`];
}

/** Finds, reads and flattens the configuration file. Never throws for what is in the file: that is a problem. */
export async function loadConfigFile<S>(
  table: Options<S>,
  { path, places }: { path: string | undefined; places: readonly string[] },
): Promise<ConfigFile> {
  const found = path ?? await firstExisting(places);
  if (found === undefined) return { path: undefined, values: new Map(), problems: [] };
  try {
    await checkIsFile(found);
    const { values, unknown } = flattenConfig(await readHocon(found), table);
    const problems = unknown.map(({ key, nearest }): Problem => {
      const message = `Unknown key "${key}" in ${found}: did you mean "${nearest}"?`;
      return { severity: "error", name: key, message };
    });
    return { path: found, values, problems };
  } catch (error) {
    if (!(error instanceof ConfigFileError || error instanceof HoconError)) throw error;
    const problem: Problem = { severity: "error", name: "config", message: error.message };
    return { path: found, values: new Map(), problems: [problem] };
  }
}

/** The configuration file cannot be opened. */
class ConfigFileError extends Error {
  override name = "ConfigFileError";
}

async function checkIsFile(path: string): Promise<void> {
  try {
    if ((await Deno.stat(path)).isDirectory) throw new ConfigFileError(`config path is a directory: ${path}`);
    (await Deno.open(path)).close();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new ConfigFileError(`config file not found: ${path}`);
    if (error instanceof ConfigFileError || !(error instanceof Error)) throw error;
    throw new ConfigFileError(`Cannot open config file "${path}": ${error.message}`);
  }
}

async function firstExisting(places: readonly string[]): Promise<string | undefined> {
  for (const place of places) {
    try {
      await Deno.stat(place);
      return place;
    } catch (error) {
      // One that is there and may not be read is found: it must not be passed over in silence.
      if (!(error instanceof Deno.errors.NotFound)) return place;
    }
  }
  return undefined;
}
