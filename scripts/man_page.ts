import { type CommandSet, loadCommands } from "../cli/program/dispatch.ts";
import { groupsOf, type HelpSubject, usageLine } from "../cli/program/help.ts";
import { environmentName, type Option } from "../cli/settings/options.ts";

/** What a page says beside its program's tables. */
export interface ManPage {
  /** Number of the manual's part: 1 for what people type, 8 for servers. */
  section: 1 | 8;
  version: string;
  /** Other pages, such as `vbg(1)`. */
  related: readonly string[];
}

const FLAGS =
  "A flag is written -name value, -name=value, or with two dashes. A switch needs no value; -name=false turns " +
  "it off. A flag given twice: the last one counts. A flag wins over its environment variable, that over its key of the " +
  "configuration file, where there are these. Durations: 5m, 1h30m, 250ms, or ISO 8601 such as PT5M. Sizes: bytes, 10GB, " +
  "or 512KiB.";
const STATUS: readonly [string, string][] = [
  ["0", "All went well, or the program was asked to stop."],
  ["1", "Something failed."],
  ["2", "The command line or another setting is wrong."],
];

/** The manual page (roff) of a program without commands. */
export function programManPage<S>(program: HelpSubject<S>, page: ManPage): string {
  return wholePage(program.name, {
    page,
    summary: program.summary,
    synopsis: [usageOf(program)],
    body: [macro("SH", "OPTIONS"), ...flagsOf(program)],
  });
}

/** The manual page (roff) of a program that is a set of commands: a section for each. */
export async function commandsManPage(set: CommandSet, page: ManPage): Promise<string> {
  const programs = (await loadCommands(set)).map(({ program }) => program);
  const sections = programs.flatMap((program) => [
    macro("SH", program.name),
    paragraph(`${usageOf(program)}\n${program.summary}.`),
    ...flagsOf(program),
  ]);
  const synopsis = programs.map(usageOf);
  return wholePage(set.name, { page, summary: set.summary, synopsis, body: sections });
}

function wholePage(
  name: string,
  { page, summary, synopsis, body }: { page: ManPage; summary: string; synopsis: string[]; body: string[] },
): string {
  const status = STATUS.flatMap(([code, meaning]) => [".TP", `.B ${code}`, escape(meaning)]);
  return [
    ".\\\" Printed by scripts/man.ts from the program's own tables.",
    // Without a date: the same sources give the same page.
    `.TH ${escape(name)} ${page.section} "" ${argument(`vbg ${page.version}`)} ${argument("Vessel Bus Gateway")}`,
    macro("SH", "NAME"),
    `${escape(name)} \\- ${escape(summary)}`,
    macro("SH", "SYNOPSIS"),
    ".nf",
    ...synopsis.map(escape),
    ".fi",
    macro("SH", "DESCRIPTION"),
    escape(FLAGS),
    ...body,
    macro("SH", "EXIT STATUS"),
    ...status,
    macro("SH", "SEE ALSO"),
    escape(page.related.join(", ")),
    "",
  ].join("\n");
}

function flagsOf<S>(program: HelpSubject<S>): string[] {
  return groupsOf(program).flatMap(([group, options]) => {
    const shown = options.filter(({ onCommandLine }) => onCommandLine);
    return shown.length === 0 ? [] : [macro("SS", group), ...shown.flatMap(flag)];
  });
}

function flag(option: Option<unknown>): string[] {
  const names = [option.name, ...option.aliases].map((name) => `\\fB\\-${escape(name)}\\fR`).join(", ");
  const value = option.placeholder === "" ? "" : ` \\fI${escape(option.placeholder)}\\fR`;
  const elsewhere = [
    ...option.defaultText === "" ? [] : [`Default: ${option.defaultText}.`],
    ...option.inEnvironment ? [`Environment: ${environmentName(option.name)}.`] : [],
    ...option.keys.length === 0 ? [] : [`Key: ${option.keys.join(", ")}.`],
  ];
  return [".TP", names + value, escape([option.help, ...elsewhere].join(" "))];
}

function usageOf<S>(program: HelpSubject<S>): string {
  return usageLine(program).replace(/^Usage: /, "");
}

function paragraph(text: string): string {
  return text.split("\n").map((line) => `.PP\n${escape(line)}`).join("\n");
}

function macro(name: string, text: string): string {
  return `.${name} ${argument(text)}`;
}

function argument(text: string): string {
  return `"${escape(text).replaceAll('"', "\\(dq")}"`;
}

/** Text that roff prints as it is: no word of it is taken for a request, and dashes are those that people type. */
function escape(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^(?=[.'])/gm, "\\&");
}
