/**
 * `vbg inspect`: shows journal files block by block.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { errorText, systemClock } from "@vessel/gateway/base";
import { type OutputChoice, outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { bytesOf, findFiles } from "./file.ts";
import { formatFile, formatJson, readRows } from "./report.ts";
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

interface InspectSettings extends ProgramSettings, OutputChoice {}

/** Name, operands and settings of `vbg inspect`. */
export const program: Program<InspectSettings> = {
  name: "vbg inspect",
  version: VERSION,
  summary: "shows what is in journal files (.lpj), and in those of directories with their write-ahead logs: header, " +
    "blocks, totals, index; as JSON an object a file, each on a line. Exit code 1: a file cannot be read",
  options: { ...outputOptions(), ...programOptions() },
  checks: [],
  positionals: "FILE|DIR ...",
};

/** Runs `vbg inspect`. Returns the exit code. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnce(program, {
    around,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => await inspect(settings, { names, around }),
  });
}

async function inspect(
  settings: InspectSettings,
  { names, around }: { names: readonly string[]; around: ProgramContext },
): Promise<number> {
  const [output, stopping] = [outputOf(around), stoppedBy(around)];
  const files = await findFiles(names);
  const total = bytesOf(files);
  const progress = new Progress({ output: errorsOf(around), total, unit: "bytes", clock: systemClock });
  const isJson = wantsJson(settings, output);
  let failures = 0;
  let written = 0;
  for (const found of files) {
    const file = await found.open().catch((error) =>
      void around.complain(`${program.name}: ${found.path}: ${errorText(error)}`)
    );
    if (file === undefined) {
      failures++;
      continue;
    }
    const rows = await readRows(file, (bytes) => {
      stopping.throwIfAborted();
      progress.add(bytes);
    }).finally(() => progress.done());
    const gap = written++ > 0 && !isJson ? "\n" : "";
    await output.write(`${gap}${isJson ? formatJson(rows) : formatFile(rows, output)}\n`);
  }
  await output.flush();
  return failures === 0 ? EXIT.ok : EXIT.failure;
}
