/**
 * `vbg verify`: reads every frame of a journal, and tells what is damaged or missing.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { systemClock } from "@vessel/gateway/base";
import { type OutputChoice, outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { bytesOf, findFiles } from "../inspect/file.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stoppedBy,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { verifyJournal } from "./journal.ts";
import { formatFile, formatJson, formatRuns } from "./report.ts";

interface VerifySettings extends ProgramSettings, OutputChoice {}

/** Name, operands and settings of `vbg verify`. */
export const program: Program<VerifySettings> = {
  name: "vbg verify",
  version: VERSION,
  summary:
    "reads every block and frame of journal files (.lpj), and of directories with their write-ahead logs, checks " +
    "them and their numbers, within and across files. Gaps that the journal tells are told; others, and whatever is damaged, are " +
    "errors: exit code 1",
  options: { ...outputOptions(), ...programOptions() },
  checks: [],
  positionals: "FILE|DIR ...",
};

/** Runs `vbg verify`. Returns the exit code. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnce(program, {
    around,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => {
      const output = outputOf(around);
      const files = await findFiles(names);
      const progress = new Progress({
        output: errorsOf(around),
        total: bytesOf(files),
        unit: "bytes",
        clock: systemClock,
      });
      const found = await verifyJournal(files, { signal: stoppedBy(around), onBytes: (bytes) => progress.add(bytes) })
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
