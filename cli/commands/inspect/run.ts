import { systemClock } from "@vessel/gateway/base";
import { type OutputChoice, wantsJson } from "../../client/client_options.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stopSignalOf,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import type { Output } from "../../program/terminal.ts";
import type { ProgramSettings } from "../../settings/common_options.ts";
import { bytesOf, findFiles, type FoundFile } from "./file.ts";

/** The files that a command reads, and its outputs. */
export interface JournalInput {
  found: readonly FoundFile[];
  /** The files and directories of the command line. */
  names: readonly string[];
  output: Output;
  /** Whether JSON is printed. */
  json: boolean;
  /** Called with the number of bytes read: advances the progress bar. @throws {Interrupted} the command was stopped */
  onBytes: (bytes: number) => void;
  /** Reports an error of a file. */
  fail: (what: string) => void;
}

/**
 * Runs a command on journal files and directories, with a progress bar. Returns the exit code: 1 if `run` returns false
 * or has reported an error.
 */
export async function runOnFiles<S extends ProgramSettings & OutputChoice>(
  program: Program<S>,
  { context, run, hangUp = false }: {
    context: ProgramContext;
    run: (settings: S, input: JournalInput) => Promise<boolean | void>;
    /** See `InterruptionOptions`. */
    hangUp?: boolean;
  },
): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => {
      const [output, stopping] = [outputOf(context), stopSignalOf(context, { hangUp })];
      const found = await findFiles(names);
      const clock = systemClock;
      const progress = new Progress({ output: errorsOf(context), total: bytesOf(found), unit: "bytes", clock });
      const onBytes = (bytes: number) => {
        stopping.throwIfAborted();
        progress.add(bytes);
      };
      let failures = 0;
      const fail = (what: string) => {
        failures++;
        context.printError(`${program.name}: ${what}`);
      };
      const json = wantsJson(settings, output);
      const isGood = await run(settings, { found, names, output, json, onBytes, fail }).finally(() => progress.done());
      return isGood !== false && failures === 0 ? EXIT.ok : EXIT.failure;
    },
  });
}
