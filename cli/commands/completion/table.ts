import type { Command, CommandSet } from "../../program/dispatch.ts";
import type { HelpSubject } from "../../program/help.ts";
import { type Option, settingNames } from "../../settings/options.ts";

/** Kind of value that follows a flag. */
export type FlagValue = { kind: "none" } | { kind: "any" } | { kind: "files" } | {
  kind: "choices";
  choices: readonly string[];
};

/** A flag that a shell can complete. */
export interface CompletedFlag {
  /** Without dashes. */
  name: string;
  /** Short description. */
  help: string;
  value: FlagValue;
}

/** A program, or a program with the words of one of its commands. */
export interface CompletedPlace {
  /** The words, such as `vbg-cloud ca init`. */
  words: string;
  flags: readonly CompletedFlag[];
  /** Commands that may follow. */
  commands: readonly { name: string; summary: string }[];
  /** Files may follow. */
  takesFiles: boolean;
}

/** Longest description of a flag, characters: one line of a list. */
const MAX_HELP = 80;
const FILE_WORDS = /\b(FILE|DIR)\b/;
/** Placeholder of alternatives, one of which is the value. */
const WORDS = /^[a-z]+(\|[a-z]+)+$/;

/** Completion of a program without commands. */
export function completionOfProgram<S>(program: HelpSubject<S>): CompletedPlace[] {
  return [place(program.name, program)];
}

/** Completion of a program with commands. */
export async function completionOfSet(
  { name, commands, otherwise }: Pick<CommandSet, "name" | "commands" | "otherwise">,
): Promise<CompletedPlace[]> {
  const own = otherwise === undefined ? undefined : (await otherwise.load()).program;
  const rows = Object.entries(commands).map(([word, { summary }]) => ({ name: word, summary }));
  const first = own === undefined ? { words: name, flags: [], takesFiles: false } : place(name, own);
  const below = await Promise.all(
    Object.entries(commands).map(([word, command]) => placesOf(`${name} ${word}`, command)),
  );
  return [{ ...first, commands: rows }, ...below.flat()];
}

async function placesOf(words: string, command: Command): Promise<CompletedPlace[]> {
  if (!("load" in command)) return await completionOfSet({ ...command, name: words });
  return [place(words, (await command.load()).program)];
}

function place<S>(words: string, { options, positionals = "" }: HelpSubject<S>): CompletedPlace {
  const flags = settingNames(options).map((name): Option<unknown> => options[name])
    .filter(({ onCommandLine }) => onCommandLine)
    .flatMap((option) => [option.name, ...option.aliases].map((name) => completedFlag(option, name)));
  const chosen = WORDS.test(positionals) ? positionals.split("|").map((name) => ({ name, summary: "" })) : [];
  return { words, flags, commands: chosen, takesFiles: FILE_WORDS.test(positionals) };
}

function completedFlag(option: Option<unknown>, name: string): CompletedFlag {
  const [sentence = ""] = option.help.split(/[.:;](?:\s|$)/, 1);
  const help = sentence.length <= MAX_HELP ? sentence : `${sentence.slice(0, MAX_HELP - 1).trimEnd()}…`;
  return { name, help, value: valueOf(option) };
}

function valueOf({ kind, placeholder }: Option<unknown>): FlagValue {
  if (kind === "boolean") return { kind: "none" };
  if (kind === "enum") return { kind: "choices", choices: placeholder.split("|") };
  return { kind: FILE_WORDS.test(placeholder) ? "files" : "any" };
}
