/**
 * `vbg mark`: keeps the frames around now.
 *
 * @module
 */
import { outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { runOnServer, writeJson } from "../../client/server_command.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import type { SettingsOf } from "../../settings/options.ts";

const options = { ...serverOptions, ...outputOptions, ...programOptions };

/** Name, operands and settings of `vbg mark`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg mark",
  summary: "keeps the frames from a minute before now to a minute after it in the boat's black box",
  options,
  checks: serverChecks,
  positionals: "[TEXT ...]",
};

/** Runs `vbg mark`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    run: async (_settings, { client, output, json, signal, words }) => {
      const marked = await client.mark(words.join(" "), { signal });
      if (json) return await writeJson(output, marked);
      const { name, is_new: isNew } = marked;
      await output.write(`${isNew ? "Marked" : "Marked within the last ten minutes"}: ${name}\n`);
    },
  });
}
