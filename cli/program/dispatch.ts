import { VERSION } from "@vessel/gateway/version";
import { hint } from "@vessel/gateway/units";
import { type HelpSubject, wrap } from "./help.ts";
import { EXIT, type ProgramContext } from "./program.ts";

/** Exports of a command's file. */
export interface CommandFile {
  /** Its name (`vbg NAME`), operands and flags, for help and the reference page. */
  program: HelpSubject<unknown>;
  /** Runs it with the arguments after its name and returns the exit code. */
  run: (context: ProgramContext) => Promise<number>;
}

/** A command, or a set of subcommands. */
export type Command =
  & {
    /** What it does, as a short phrase. */
    summary: string;
  }
  & (
    | {
      /** Loads it on demand, since most runs need only one command. */
      load: () => Promise<CommandFile>;
    }
    | Pick<CommandSet, "commands" | "otherwise">
  );

/** Commands by name. */
export type Commands = Readonly<Record<string, Command>>;

/** A program that is a set of commands. */
export interface CommandSet {
  /** Such as `vbg`. */
  name: string;
  /** One sentence, without a full stop. */
  summary: string;
  commands: Commands;
  /** A paragraph of its help, after the commands. */
  note?: string;
  /** Runs without a command, also with flags; left out: a command is required. */
  otherwise?: Extract<Command, { load: unknown }>;
}

const NAME_COLUMNS = 14;

/** Runs the command of the first word. Returns the exit code. */
export async function dispatch(set: CommandSet, context: ProgramContext): Promise<number> {
  const [name = "", ...args] = context.args;
  const command = Object.hasOwn(set.commands, name) ? set.commands[name] : undefined;
  if (command !== undefined) {
    if ("load" in command) return await (await command.load()).run({ ...context, args });
    return await dispatch({ ...command, name: `${set.name} ${name}` }, { ...context, args });
  }
  const [subject = "-"] = args;
  if (name === "help" && subject === "all" && set.otherwise) {
    return await dispatch(set, { ...context, args: ["-h", "all"] });
  }
  if (name === "help" && !subject.startsWith("-")) return await dispatch(set, { ...context, args: [...args, "-help"] });
  const isHelp = ["-h", "-help", "--help", "help"].includes(name);
  if (isHelp) context.print(helpText(set));
  if (set.otherwise !== undefined && (name === "" || name.startsWith("-"))) {
    return await (await set.otherwise.load()).run(context);
  }
  if (isHelp) return EXIT.ok;
  if (["-version", "--version"].includes(name)) {
    context.print(`${set.name} ${VERSION}`);
    return EXIT.ok;
  }
  if (name === "") context.printError(helpText(set));
  else context.printError(`${set.name}: ${wrongWord(name, set)}\nRun "${set.name} help" for all`);
  return EXIT.settings;
}

function wrongWord(word: string, { commands }: CommandSet): string {
  if (word.startsWith("-")) return `Unexpected flag "${word}": expected a command first, then its flags`;
  return `Unknown command "${word}"${hint(word, { known: Object.keys(commands) })}`;
}

/** Loads all commands and subcommands, in the order of their tables. */
export async function loadCommands(
  { commands, otherwise }: Pick<CommandSet, "commands" | "otherwise">,
): Promise<CommandFile[]> {
  const files = Object.values(commands).map(async (command) =>
    "load" in command ? [await command.load()] : await loadCommands(command)
  );
  // A command may have two names.
  return [...new Set([...otherwise ? [await otherwise.load()] : [], ...(await Promise.all(files)).flat()])];
}

function helpText({ name, summary, commands, note, otherwise }: CommandSet): string {
  const rows = Object.entries(commands).map(([word, { summary }]) => `  ${word.padEnd(NAME_COLUMNS)}${summary}`);
  return [
    `${name}: ${summary}`,
    "",
    `Usage: ${name} ${otherwise ? "[COMMAND]" : "COMMAND"} [flags] ...`,
    "",
    ...rows,
    "",
    ...(note === undefined ? [] : [wrap(note), ""]),
    ...(otherwise ? [`Without a command it ${otherwise.summary}.`] : []),
    `Run "${name} ${otherwise ? "[COMMAND]" : "COMMAND"} -help" for its flags.`,
  ]
    .join("\n");
}
