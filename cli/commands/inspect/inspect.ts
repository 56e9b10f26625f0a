/**
 * `vbg inspect`: shows journal files block by block.
 *
 * @module
 */
import { errorText, systemClock } from "@vessel/gateway/base";
import { outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { bytesOf, findFiles } from "./file.ts";
import { formatFile, formatJson, readRows } from "./report.ts";
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
import type { SettingsOf } from "../../settings/options.ts";

const options = { ...outputOptions, ...programOptions };

type InspectSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg inspect`. */
export const program: Program<InspectSettings> = {
  name: "vbg inspect",
  summary: "shows the header, blocks, totals and index of journal files (.lpj), or of all files and write-ahead logs " +
    "of directories. JSON: one line for each file. Exit code 1: a file cannot be read",
  options,
  positionals: "FILE|DIR ...",
};

/** Runs `vbg inspect`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => await inspect(settings, { names, context }),
  });
}

async function inspect(
  settings: InspectSettings,
  { names, context }: { names: readonly string[]; context: ProgramContext },
): Promise<number> {
  const [output, stopping] = [outputOf(context), stopSignalOf(context)];
  const files = await findFiles(names);
  const total = bytesOf(files);
  const progress = new Progress({ output: errorsOf(context), total, unit: "bytes", clock: systemClock });
  const isJson = wantsJson(settings, output);
  let failures = 0;
  let written = 0;
  for (const found of files) {
    const file = await found.open().catch((error) =>
      void context.complain(`${program.name}: ${found.path}: ${errorText(error)}`)
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
