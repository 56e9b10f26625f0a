import { configPlaces } from "../settings/config_file.ts";
import { environmentName, type Option, type Options, settingNames } from "../settings/options.ts";
import { COMMON_FLAGS } from "./common_flags.ts";

/** Properties of a program for its help. */
export interface HelpSubject<S> {
  /** Name of the program, such as `vbg-boat`. */
  name: string;
  /** One sentence, without a full stop. */
  summary: string;
  options: Options<S>;
  /** Name of its configuration file; left out: none. */
  configName?: string;
  /** Other words of the command line, such as `[FILE ...]`. Default: none allowed. */
  positionals?: string;
  /** Options that help omits, because the program overrides them. */
  hidden?: readonly string[];
}

/** Width that help texts are wrapped to, characters. */
const HELP_COLUMNS = 100;
const INDENT = " ".repeat(8);
/** Columns of the reference page. */
const HEAD = ["Flag", "Default", "Environment", "Configuration key", "Meaning"];
const OPTIONAL_COLUMNS = ["Environment", "Configuration key"];

/** Text of `--help`: options under their groups. Without `all` only the common ones, see common_flags.ts. */
export function formatHelp<S>(subject: HelpSubject<S>, { all = false }: { all?: boolean } = {}): string {
  const common = all ? undefined : COMMON_FLAGS[subject.name];
  const groups = groupsOf(subject).map(([group, options]) => ({
    group,
    flags: options.filter(({ onCommandLine }) => onCommandLine),
  }));
  const sections = groups.map(({ group, flags }) => ({
    group,
    flags: flags.filter(({ name }) => common?.includes(name) ?? true),
  })).filter(({ flags }) => flags.length > 0).map(({ group, flags }) =>
    [`${group}:`, ...flags.map(formatOption)].join("\n")
  );
  const count = groups.reduce((sum, { flags }) => sum + flags.length, 0);
  return [
    wrap(`${subject.name}: ${subject.summary}`),
    usageLine(subject),
    ...sections,
    wrap(
      "A flag is written -name value, -name=value or with two dashes; a switch needs no value, -name=false turns it off. " +
        `A flag wins over its environment variable (in brackets), that over ${fromFile(subject)}the default. ` +
        "Durations: 5m, 1h30m, 250ms or PT5M. Sizes: 4096, 10GB or 512KiB.",
      "",
    ),
    ...common ? [`Run "${subject.name} -h all" for all ${count} flags.`] : [],
  ].join("\n\n");
}

function fromFile<S>({ configName }: HelpSubject<S>): string {
  if (configName === undefined) return "";
  return `its key of the configuration file (${configPlaces(configName).join(", ")}), that over `;
}

/** Text after the message about a wrong command line. */
export function formatUsage<S>(subject: HelpSubject<S>): string {
  return `${usageLine(subject)}\nRun "${subject.name} -help" for the flags`;
}

/** The reference page (Markdown), from the same table as `--help`. */
export function formatReference<S>(subject: HelpSubject<S>): string {
  return `${referenceIntro(subject)}\n\n${formatFlags(subject, { heading: "##" })}\n`;
}

/** Tables of all settings (Markdown), one for each group. Columns that are empty everywhere are omitted. */
export function formatFlags<S>(subject: HelpSubject<S>, { heading }: { heading: string }): string {
  const groups = groupsOf(subject).map(([group, rows]): [string, string[][]] => [group, rows.map(row)]);
  const isUsed = HEAD.map((title, column) =>
    !OPTIONAL_COLUMNS.includes(title) || groups.some(([, rows]) => rows.some((cells) => cells[column] !== ""))
  );
  const used = (cells: string[]) => cells.filter((_, column) => isUsed[column]);
  return groups.map(([group, rows]) => `${heading} ${group}\n\n${formatTable(used(HEAD), rows.map(used))}`).join(
    "\n\n",
  );
}

function referenceIntro<S>(subject: HelpSubject<S>): string {
  const { name, summary, configName } = subject;
  const head = `<!-- Printed by scripts/docs.ts from the program's own table. Do not edit. -->

# ${name}

${summary}.`;
  if (configName === undefined) return head;
  const [local, system] = configPlaces(configName);
  return `${head}

A setting is given by a flag, an environment variable or a key of the configuration file; a flag wins over the environment, the environment over the file, the file over the default. An environment variable that is empty counts as not set.

- Flags: \`-name value\`, \`-name=value\`, or with two dashes. A switch needs no value; \`-name=false\` turns it off. A flag given twice: the last one counts. Lists: repeat the flag.
- Configuration file: HOCON, at the path of \`-config\`, else \`${local}\`, else \`${system}\`. A key that no setting has is an error. Values with \`:\` or other punctuation are written in quotes. A number may be written as text, a list of one as a single value.
- Durations: \`5m\`, \`1h30m\`, \`250ms\`, or ISO 8601 such as \`PT5M\`. Sizes: bytes, \`10GB\`, or \`512KiB\`.
- \`${name} -validate-config\` checks everything and says where each value comes from.
- SIGHUP reads the file again and applies the settings marked "reloads"; a file with an error in it is refused as a whole. SIGTERM and SIGINT stop the program.
- Exit code: 0 after a stop, 2 for wrong settings, 1 for any other failure to start.`;
}

function row(option: Option<unknown>): string[] {
  const flags = option.onCommandLine ? [option.name, ...option.aliases].map((name) => code(`-${name}`)) : [];
  const meaning = option.reloadable ? `${option.help} Reloads.` : option.help;
  return [
    flags.join(", "),
    option.defaultText === "" ? "" : code(option.defaultText),
    option.inEnvironment ? code(environmentName(option.name)) : "",
    option.keys.map(code).join(", "),
    option.kind === "enum" ? `${option.placeholder.replaceAll("|", ", ")}. ${meaning}` : meaning,
  ];
}

function formatOption(option: Option<unknown>): string {
  const flags = [option.name, ...option.aliases].map((name) => `-${name}`).join(", ");
  const value = option.placeholder === "" ? "" : ` ${option.placeholder}`;
  const repeats = option.kind === "list" ? " ..." : "";
  const known = option.defaultText === "" ? "" : ` (default ${option.defaultText})`;
  const names = [...option.inEnvironment ? [environmentName(option.name)] : [], ...option.keys.slice(0, 1)];
  const elsewhere = names.length === 0 ? "" : ` [${names.join(", ")}]`;
  return `  ${flags}${value}${repeats}\n${wrap(`${option.help}${known}${elsewhere}`, INDENT)}`;
}

/** `Usage: NAME [flags] ...` */
export function usageLine<S>({ name, positionals }: HelpSubject<S>): string {
  return ["Usage:", name, "[flags]", ...positionals === undefined ? [] : [positionals]].join(" ");
}

/** Options by group, in the order in which the table first names each group. Without a file none has keys or reloads. */
export function groupsOf<S>({ options, configName, hidden = [] }: HelpSubject<S>): [string, Option<unknown>[]][] {
  const unfiled = configName === undefined ? { keys: [], reloadable: false } : {};
  const names = settingNames(options).filter((name) => !hidden.includes(name));
  const rows = names.map((name): Option<unknown> => ({ ...options[name], ...unfiled }));
  return [...Map.groupBy(rows, ({ group }) => group)];
}

/** Breaks a text into lines of at most {@linkcode HELP_COLUMNS} characters. */
export function wrap(text: string, indent = ""): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.trim() !== "" && line.length + 1 + word.length > HELP_COLUMNS) {
      lines.push(line);
      line = indent;
    }
    line += line.trim() === "" ? word : ` ${word}`;
  }
  return [...lines, line].join("\n");
}

/** A table as `deno fmt` would write it. */
function formatTable(head: string[], rows: string[][]): string {
  const escaped = rows.map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((title, column) =>
    Math.max(...[head, ...escaped].map((cells) => (cells[column] ?? title).length))
  );
  const line = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...escaped.map(line)].join("\n");
}

function code(value: string): string {
  return `\`${value}\``;
}
