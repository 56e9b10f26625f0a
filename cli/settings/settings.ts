import type { FileSettings, ProgramSettings } from "./common_options.ts";
import { type ConfigFile, configPlaces, loadConfigFile } from "./config_file.ts";
import {
  type AsyncCheck,
  type Check,
  type Environment,
  type Options,
  type Problem,
  readOption,
  type Resolution,
  resolveAsync,
  resolveSettings,
} from "./options.ts";

/** The table and checks of a program. */
export interface SettingsSubject<S extends ProgramSettings & Partial<FileSettings>> {
  options: Options<S>;
  checks?: readonly Check<S>[];
  /** Checks that are asynchronous. */
  asyncChecks?: readonly AsyncCheck<S>[];
  /** Name of the configuration file that is read without `-config`; left out: none is read. */
  configName?: string;
}

/** Sources of settings besides the file. */
export interface Given {
  /** Flags by name, as `parseCommandLine` returns them. */
  flags: ReadonlyMap<string, readonly string[]>;
  environment: Environment;
}

/** Settings as read, with their problems. */
export interface Loaded<S> {
  file: ConfigFile;
  resolution: Resolution<S>;
  /** Of the file and of the settings. */
  problems: readonly Problem[];
  /** Undefined if a problem is an error. */
  settings: S | undefined;
}

/** Reads the configuration file and every setting. `configPath`: a required file, regardless of `-config`. */
export async function loadSettings<S extends ProgramSettings & Partial<FileSettings>>(
  { options, checks = [], asyncChecks = [], configName }: SettingsSubject<S>,
  { flags, environment, configPath }: Given & { configPath?: string | undefined },
): Promise<Loaded<S>> {
  const named = configName === undefined ? undefined : readOption(options.config, { flags, environment });
  const path = configPath ?? (named?.ok ? named.value : undefined);
  const places = configName === undefined ? [] : configPlaces(configName);
  const file = await loadConfigFile(options, { path, places });
  const resolution = await resolveAsync(options, {
    resolution: resolveSettings(options, { flags, environment, config: file.values, checks }),
    checks: asyncChecks,
  });
  const settings = file.problems.length === 0 ? resolution.settings : undefined;
  return { file, resolution, problems: [...file.problems, ...resolution.problems], settings };
}
