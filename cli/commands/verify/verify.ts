/**
 * `vbg verify`: reads every frame of a journal, and reports what is damaged or missing.
 *
 * @module
 */
import { outputOptions } from "../../client/client_options.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { runOnFiles } from "../inspect/run.ts";
import { verifyJournal } from "./journal.ts";
import { formatFile, formatJson, formatRuns } from "./report.ts";

const options = { ...outputOptions, ...programOptions };

/** Name, operands and settings of `vbg verify`. */
export const program: Program<SettingsOf<typeof options>> = {
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
  return await runOnFiles(program, {
    context,
    run: async (_settings, { found, output, json, onBytes }) => {
      const verified = await verifyJournal(found, onBytes);
      const text = json
        ? formatJson(verified)
        : [...verified.files.map((file) => formatFile(file, output)), formatRuns(verified, output)].join("\n");
      await output.write(`${text}\n`);
      return verified.errors === 0;
    },
  });
}
