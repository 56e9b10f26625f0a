/**
 * `vbg verify`: reads every frame of a journal, and reports what is damaged or missing.
 *
 * @module
 */
import { outputOptions } from "../../client/client_options.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import { refuse, type SettingsOf } from "../../settings/options.ts";
import { runOnFiles } from "../inspect/run.ts";
import { verifyEvidence } from "./evidence.ts";
import { verifyJournal } from "./journal.ts";
import { formatEvidence, formatEvidenceJson, formatFile, formatJson, formatRuns } from "./report.ts";

const flags = flagGroup("Evidence");

const options = {
  evidence: flags.boolean({
    name: "evidence",
    help:
      "Check that the files are those that the boat has signed, instead of their frames. Of a directory also that none is " +
      "missing between others.",
  }),
  evidenceKeys: flags.list({
    name: "evidence-key",
    placeholder: "FILE",
    help:
      "Public key of the boat, PEM. Repeat the flag for former keys. Default: evidence.pub.pem in the directory of the files.",
  }),
  ...outputOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg verify`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg verify",
  summary:
    "reads every block and frame of journal files (.lpj), and of directories with their write-ahead logs, and checks " +
    "them and their numbers, within and across files. Exit code 1: something is damaged, or frames are missing without " +
    "a gap in the journal that declares it; with -evidence, something was changed since it was signed",
  options,
  checks: [
    refuse(
      ["evidence", "evidenceKeys"],
      ({ evidence, evidenceKeys }) => evidenceKeys.length > 0 && !evidence && "Not used without -evidence",
    ),
  ],
  positionals: "FILE|DIR ...",
};

/** Runs `vbg verify`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnFiles(program, {
    context,
    run: async ({ evidence, evidenceKeys: keyFiles }, input) => {
      const { found, output, json, onBytes } = input;
      if (evidence) {
        const verified = await verifyEvidence(input, { keyFiles });
        await output.write(`${json ? formatEvidenceJson(verified) : formatEvidence(verified, output)}\n`);
        return verified.faults.length === 0;
      }
      const verified = await verifyJournal(found, onBytes);
      const text = json
        ? formatJson(verified)
        : [...verified.files.map((file) => formatFile(file, output)), formatRuns(verified, output)].join("\n");
      await output.write(`${text}\n`);
      return verified.errors === 0;
    },
  });
}
