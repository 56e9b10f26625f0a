/**
 * `vbg mcp`: a server of the Model Context Protocol on standard input and output.
 *
 * @module
 */
import { serverChecks, serverOptions } from "../../client/client_options.ts";
import { type ServerContext, serverContextOf } from "../../client/server_command.ts";
import { type Program, type ProgramContext, runOnce, stopSignalOf } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import type { SettingsOf } from "../../settings/options.ts";

const options = { ...serverOptions, ...programOptions };

/** Name and settings of `vbg mcp`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg mcp",
  summary:
    "lets programs and language models read a boat: a server of the Model Context Protocol (MCP) on standard input and " +
    "output. Its tools read devices, values, their past, health and missing frames; none sends or changes anything",
  options,
  checks: serverChecks,
};

/** Runs `vbg mcp` until its input ends. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    run: async (settings) => {
      // On demand: commands are loaded for their help, too.
      const { serveMcp } = await import("./serve.ts");
      const signal = stopSignalOf(context);
      const choose = () => serverContextOf({ ...settings, json: false }, { context, name: program.name, signal });
      const note = (text: string) => context.printError(`${program.name}: ${text}`);
      await serveMcp({ choose: untilChosen(choose), note, signal });
    },
  });
}

/** The server is chosen at the first call that finds one: the boat may be away when the client starts this program. */
function untilChosen(choose: () => Promise<ServerContext>): () => Promise<ServerContext> {
  let chosen: Promise<ServerContext> | undefined;
  return () =>
    chosen ??= choose().catch((error: unknown) => {
      chosen = undefined;
      throw error;
    });
}
