import { isDeepStrictEqual } from "node:util";
import type { FileSettings, ProgramSettings } from "../settings/common_options.ts";
import { describeProblem, type Problem, settingNames } from "../settings/options.ts";
import { type Given, loadSettings, type SettingsSubject } from "../settings/settings.ts";

/** Result of reading the settings again. */
export type Reload<S> =
  | {
    kind: "accepted";
    /** New values of reloadable settings. */
    changed: Partial<S>;
    /** Names of these settings, as on the command line. */
    changedNames: string[];
    /** Names of changed settings that need a restart. */
    needRestart: string[];
    /** Warnings about valid settings. */
    warnings: string[];
  }
  | { kind: "refused"; errors: string[] };

/**
 * Reads the configuration file again; flags and environment keep their precedence. One error refuses the whole file. The
 * file of the start (`configPath`) must still exist.
 */
export async function reloadSettings<S extends ProgramSettings & Partial<FileSettings>>(
  subject: SettingsSubject<S>,
  { current, ...given }: Given & { current: S; configPath: string | undefined },
): Promise<Reload<S>> {
  const { settings, problems } = await loadSettings(subject, given);
  const messages = (which: Problem["severity"]) =>
    problems.filter(({ severity }) => severity === which).map(describeProblem);
  if (settings === undefined) return { kind: "refused", errors: messages("error") };
  const changed: Partial<S> = {};
  const changedNames: string[] = [];
  const needRestart: string[] = [];
  for (const name of settingNames(subject.options)) {
    if (isDeepStrictEqual(settings[name], current[name])) continue;
    const option = subject.options[name];
    if (!option.reloadable) {
      needRestart.push(option.name);
      continue;
    }
    changed[name] = settings[name];
    changedNames.push(option.name);
  }
  return { kind: "accepted", changed, changedNames, needRestart, warnings: messages("warning") };
}
