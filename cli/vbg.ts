/**
 * `vbg`, the client: one command for each thing to do with a boat's data.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway";
import type { HelpSubject } from "./help.ts";
import { nearest } from "./nearest.ts";
import { EXIT, processSurroundings, type Surroundings } from "./program.ts";

/** What the file of a command exports. */
export interface CommandFile {
  /** Its name (`vbg NAME`), words and flags, for help and the reference page. */
  program: HelpSubject<unknown>;
  /** Runs it with the words behind its name. Answers the exit code. */
  run: (around: Surroundings) => Promise<number>;
}

/** One command of `vbg`. */
export interface Command {
  /** What it does, in some words. */
  summary: string;
  /** Loads it: most runs need one alone. */
  load: () => Promise<CommandFile>;
}

/** All commands by name. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  "archive-s3": { summary: "sends journal files to an S3-compatible store", load: () => import("./archive_s3.ts") },
  convert: { summary: "makes a journal of recordings of other programs", load: () => import("./convert.ts") },
  simulate: { summary: "plays a recording through the server of a boat", load: () => import("./simulate.ts") },
};

const NAME_COLUMNS = 12;

/** Runs the command that the first word names. Answers the exit code. */
export async function runVbg(around: Surroundings): Promise<number> {
  const [name = "", ...args] = around.args;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command) return await (await command.load()).run({ ...around, args });
  if (["-h", "-help", "--help", "help"].includes(name)) {
    around.print(helpText());
    return EXIT.ok;
  }
  if (["-version", "--version"].includes(name)) {
    around.print(`vbg ${VERSION}`);
    return EXIT.ok;
  }
  if (name === "") around.complain(helpText());
  else {
    const known = Object.keys(COMMANDS);
    around.complain(`vbg: Unknown command "${name}": did you mean ${nearest(name, known)}?\nRun "vbg help" for all`);
  }
  return EXIT.settings;
}

function helpText(): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(NAME_COLUMNS)}${summary}`);
  return [
    "vbg: the client of the Vessel Bus Gateway",
    "",
    "Usage: vbg COMMAND [flags] ...",
    "",
    ...rows,
    "",
    'Run "vbg COMMAND -help" for its flags.',
  ]
    .join("\n");
}

if (import.meta.main) Deno.exit(await runVbg(processSurroundings()));
