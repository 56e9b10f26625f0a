import { flattenConfig, HoconError, readHocon } from "./hocon.ts";
import type { Options, Problem } from "./options.ts";

/** Values of the configuration file by key, and its problems. */
export interface ConfigFile {
  /** Undefined without a file. */
  path: string | undefined;
  values: ReadonlyMap<string, unknown>;
  problems: readonly Problem[];
}

/** Searched after the working directory, without `-config`. */
const SYSTEM_FOLDER = "/etc/vbg";

/** Paths that are searched without `-config`, in order. */
export function configPlaces(fileName: string): string[] {
  return [`./${fileName}`, `${SYSTEM_FOLDER}/${fileName}`];
}

/** Finds, reads and flattens the configuration file. Errors in the file become problems and are not thrown. */
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
      // A file that exists but cannot be read counts as found; skipping it would hide the error.
      if (!(error instanceof Deno.errors.NotFound)) return place;
    }
  }
  return undefined;
}
