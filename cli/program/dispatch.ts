import { VERSION } from "@vessel/gateway/version";
import type { HelpSubject } from "./help.ts";
import { hint } from "../settings/nearest.ts";
import { EXIT, type ProgramContext } from "./program.ts";

/** What the file of a command exports. */
export interface CommandFile {
  /** Its name (`vbg NAME`), words and flags, for help and the reference page. */
  program: HelpSubject<unknown>;
  /** Runs it with the words after its name and returns the exit code. */
  run: (around: ProgramContext) => Promise<number>;
}

/** The word after a program's name: a command, or the first word of several. */
export type Command =
  & {
    /** What it does, in some words. */
    summary: string;
  }
  & (
    | {
      /** Loads it: most runs need one alone. */
      load: () => Promise<CommandFile>;
    }
    | Pick<CommandSet, "commands" | "otherwise">
  );

/** Commands by name. */
export type Commands = Readonly<Record<string, Command>>;

/** A program that is a set of commands. */
export interface CommandSet {
  /** How it is called, such as `vbg`. */
  name: string;
  /** One sentence, without a full stop. */
  summary: string;
  commands: Commands;
  /** What it does without a command: flags may follow its name at once. Left out: nothing. */
  otherwise?: Extract<Command, { load: unknown }>;
}

const NAME_COLUMNS = 14;

/** Runs the command that the first word names. Answers the exit code. */
export async function dispatch(set: CommandSet, around: ProgramContext): Promise<number> {
  const [name = "", ...args] = around.args;
  const command = Object.hasOwn(set.commands, name) ? set.commands[name] : undefined;
  if (command !== undefined) {
    if ("load" in command) return await (await command.load()).run({ ...around, args });
    return await dispatch({ ...command, name: `${set.name} ${name}` }, { ...around, args });
  }
  const [subject = "-"] = args;
  if (name === "help" && subject === "all" && set.otherwise) {
    return await dispatch(set, { ...around, args: ["-h", "all"] });
  }
  if (name === "help" && !subject.startsWith("-")) return await dispatch(set, { ...around, args: [...args, "-help"] });
  const isHelp = ["-h", "-help", "--help", "help"].includes(name);
  if (isHelp) around.print(helpText(set));
  if (set.otherwise !== undefined && (name === "" || name.startsWith("-"))) {
    return await (await set.otherwise.load()).run(around);
  }
  if (isHelp) return EXIT.ok;
  if (["-version", "--version"].includes(name)) {
    around.print(`${set.name} ${VERSION}`);
    return EXIT.ok;
  }
  if (name === "") around.complain(helpText(set));
  else around.complain(`${set.name}: ${wrongWord(name, set)}\nRun "${set.name} help" for all`);
  return EXIT.settings;
}

function wrongWord(word: string, { commands }: CommandSet): string {
  if (word.startsWith("-")) return `Unexpected flag "${word}": expected a command first, then its flags`;
  return `Unknown command "${word}"${hint(word, { known: Object.keys(commands) })}`;
}

/** Loads all commands, those of several words as well, in the order of their tables. */
export async function loadCommands(
  { commands, otherwise }: Pick<CommandSet, "commands" | "otherwise">,
): Promise<CommandFile[]> {
  const files = Object.values(commands).map(async (command) =>
    "load" in command ? [await command.load()] : await loadCommands(command)
  );
  // A command with two names is one.
  return [...new Set([...otherwise ? [await otherwise.load()] : [], ...(await Promise.all(files)).flat()])];
}

function helpText({ name, summary, commands, otherwise }: CommandSet): string {
  const rows = Object.entries(commands).map(([word, { summary }]) => `  ${word.padEnd(NAME_COLUMNS)}${summary}`);
  return [
    `${name}: ${summary}`,
    "",
    `Usage: ${name} ${otherwise ? "[COMMAND]" : "COMMAND"} [flags] ...`,
    "",
    ...rows,
    "",
    ...(otherwise ? [`Without a command it ${otherwise.summary}.`] : []),
    `Run "${name} ${otherwise ? "[COMMAND]" : "COMMAND"} -help" for its flags.`,
  ]
    .join("\n");
}
