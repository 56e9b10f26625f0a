/**
 * `vbg inspect`: shows journal files block by block.
 *
 * @module
 */
import { outputOptions } from "../../client/client_options.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { formatFile, formatJson, readRows } from "./report.ts";
import { runOnFiles } from "./run.ts";
import { unreadableText } from "./unreadable.ts";

const options = { ...outputOptions, ...programOptions };

/** Name, operands and settings of `vbg inspect`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg inspect",
  summary: "shows the header, blocks, totals and index of journal files (.lpj), or of all files and write-ahead logs " +
    "of directories. JSON: one line for each file. Exit code 1: a file cannot be read",
  options,
  positionals: "FILE|DIR ...",
};

/** Runs `vbg inspect`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnFiles(program, {
    context,
    run: async (_settings, { found, output, json, onBytes, fail }) => {
      let written = 0;
      for (const { path, open } of found) {
        const file = await open().catch((error) => fail(`${path}: ${unreadableText(error)}`));
        if (!file) continue;
        const rows = await readRows(file, onBytes);
        const gap = written++ > 0 && !json ? "\n" : "";
        await output.write(`${gap}${json ? formatJson(rows) : formatFile(rows, output)}\n`);
      }
    },
  });
}
