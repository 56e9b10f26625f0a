/**
 * `vbg verify`: reads every frame of a journal, and reports what is damaged or missing.
 *
 * @module
 */
import { systemClock } from "@vessel/gateway/base";
import { outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { bytesOf, findFiles } from "../inspect/file.ts";
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
import { verifyJournal } from "./journal.ts";
import { formatFile, formatJson, formatRuns } from "./report.ts";
import type { SettingsOf } from "../../settings/options.ts";

const options = { ...outputOptions, ...programOptions };

type VerifySettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg verify`. */
export const program: Program<VerifySettings> = {
  name: "vbg verify",
  summary:
    "reads every block and frame of journal files (.lpj), and of directories with their write-ahead logs, and checks " +
    "them and their numbers, within and across files. Exit code 1: something is damaged, or frames are missing without " +
    "a gap in the journal that declares it",
  options,
  positionals: "FILE|DIR ...",
};

/** Runs `vbg verify`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => {
      const output = outputOf(context);
      const files = await findFiles(names);
      const progress = new Progress({
        output: errorsOf(context),
        total: bytesOf(files),
        unit: "bytes",
        clock: systemClock,
      });
      const found = await verifyJournal(files, {
        signal: stopSignalOf(context),
        onBytes: (bytes) => progress.add(bytes),
      })
        .finally(() => progress.done());
      const text = wantsJson(settings, output)
        ? formatJson(found)
        : [...found.files.map((file) => formatFile(file, output)), formatRuns(found, output)].join("\n");
      await output.write(`${text}\n`);
      await output.flush();
      return found.errors === 0 ? EXIT.ok : EXIT.failure;
    },
  });
}
