/**
 * Prints the manual pages of all programs from their own tables: `deno run -A scripts/man.ts [-out DIR]`.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { boatProgram } from "../cli/boat.ts";
import { cloud } from "../cli/cloud.ts";
import { vbg } from "../cli/vbg.ts";
import { VERSION } from "../src/version.ts";
import { type CommandSet, loadCommands } from "../cli/program/dispatch.ts";
import { groupsOf, type HelpSubject, usageLine } from "../cli/program/help.ts";
import { environmentName, type Option } from "../cli/settings/options.ts";
import { runScript, scriptArgs } from "./script.ts";

/** Data of a page besides its program's tables. */
export interface ManPage {
  /** Section of the manual: 1 for commands, 8 for servers. */
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

/** Escapes text for roff: lines are no requests, and dashes remain ASCII. */
function escape(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^(?=[.'])/gm, "\\&");
}

const related = (...pages: string[]) => ({ version: VERSION, related: pages });

/** Every page, by the name of its file. */
export const manPages: Record<string, () => string | Promise<string>> = {
  "vbg.1": () => commandsManPage(vbg, { section: 1, ...related("vbg-boat(8)", "vbg-cloud(8)") }),
  "vbg-boat.8": () => programManPage(boatProgram, { section: 8, ...related("vbg(1)", "vbg-cloud(8)") }),
  "vbg-cloud.8": () => commandsManPage(cloud, { section: 8, ...related("vbg(1)", "vbg-boat(8)") }),
};

/** Writes all pages into a folder. Returns their paths. */
export async function writeManPages(out: string): Promise<string[]> {
  await Deno.mkdir(out, { recursive: true });
  const paths: string[] = [];
  for (const [name, print] of Object.entries(manPages)) {
    paths.push(`${out}/${name}`);
    await Deno.writeTextFile(`${out}/${name}`, await print());
  }
  return paths;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptArgs(),
    options: { out: { type: "string", default: "dist/man" } },
  });
  for (const path of await writeManPages(values.out)) console.log(path);
}

if (import.meta.main) await runScript("man", main);
