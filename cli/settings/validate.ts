import type { ConfigFile } from "./config_file.ts";
import {
  describeSource,
  formatValue,
  type Options,
  type Outcome,
  type Problem,
  type Resolution,
  settingNames,
} from "./options.ts";

/** Output of `-validate-config`, and its exit code. */
export interface Report {
  text: string;
  exitCode: 0 | 1;
}

/** Width of the names, characters. */
const NAME_COLUMNS = 35;
const UNSET_TEXT = "(not set)";

/** The report of `-validate-config`: every setting with its value and source, and every problem. */
export function formatReport<S>(
  options: Options<S>,
  { resolution, file }: { resolution: Resolution<S>; file: Pick<ConfigFile, "path" | "problems"> },
): Report {
  const lines = file.problems.map(problemLine);
  for (const name of settingNames(options)) {
    const option = options[name];
    if (option.keys.length === 0) continue;
    const problems = resolution.problems.filter((problem) => problem.name === option.name);
    const outcome = resolution.outcomes[name];
    if (!problems.some(({ severity }) => severity === "error") && outcome.ok) {
      lines.push(settingLine("[OK]", option.name, valueText(outcome, (value) => formatValue(option, value))));
    }
    lines.push(...problems.map(problemLine));
  }
  const all = [...file.problems, ...resolution.problems];
  const errors = all.filter(({ severity }) => severity === "error").length;
  const text = [`Config file: ${file.path ?? "(none)"}`, "", ...lines, "", verdict(errors, all.length - errors)].join(
    "\n",
  );
  return { text, exitCode: errors === 0 ? 0 : 1 };
}

function valueText<T>(outcome: Extract<Outcome<T>, { ok: true }>, format: (value: T) => string | undefined): string {
  const value = format(outcome.value) ?? UNSET_TEXT;
  return outcome.source.from === "default" ? value : `${value} (${describeSource(outcome.source)})`;
}

function problemLine({ severity, name, source, message }: Problem): string {
  const where = source === undefined || source.from === "default" ? "" : ` (${describeSource(source)})`;
  return settingLine(severity === "error" ? "[FAIL]" : "[WARN]", name, `${message}${where}`);
}

function settingLine(mark: string, name: string, words: string): string {
  return `  ${mark.padEnd(6)} ${name.padEnd(NAME_COLUMNS)} ${words}`;
}

function verdict(errors: number, warnings: number): string {
  if (errors > 0) return `${errors} error(s), ${warnings} warning(s)`;
  return warnings > 0 ? `Config valid with ${warnings} warning(s)` : "Config valid";
}
