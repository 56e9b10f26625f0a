/**
 * `vbg request`: requests a message from a device.
 *
 * @module
 */
import { outputOptions, serverChecks, serverOptions, unitsOf, unitsOptions } from "../../client/client_options.ts";
import { frameText } from "../../client/frame_text.ts";
import { runOnServer, writeJson } from "../../client/server_command.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { addressChecks, addressOptions } from "./options.ts";

const message = flagGroup("Message");
const output = flagGroup("Output");

const options = {
  ...serverOptions,
  ...addressOptions,
  timeoutMs: message.duration({
    name: "timeout",
    default: 2000,
    minMs: 1,
    help: "Longest wait for the reply; the server limits it with -query-max-timeout.",
  }),
  ...outputOptions,
  decode: output.boolean({
    name: "decode",
    default: true,
    help: "Show the fields of the reply; JSON also has the payload.",
  }),
  ...unitsOptions,
  ...programOptions,
};

/** Settings of `vbg request`. */
export type RequestSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg request`. */
export const program: Program<RequestSettings> = {
  name: "vbg request",
  summary: "requests a message from the devices of a boat (ISO request) and prints the first reply",
  options,
  checks: [...serverChecks, ...addressChecks],
};

/** Runs `vbg request`. Returns the exit code: 1 without a reply. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    run: async ({ pgn = 0, dst, bus, timeoutMs, decode, units }, { client, output, json, signal }) => {
      const query = { pgn, dst, timeoutMs, decode, ...(bus !== undefined && { bus }) };
      const answer = await client.query(query, { signal });
      await (json ? writeJson(output, answer) : output.write(frameText(answer, unitsOf({ units }, output)) + "\n"));
    },
  });
}
