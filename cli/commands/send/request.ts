/**
 * `vbg request`: requests a message from a device.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { type ClientSettings, outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { frameText } from "../../client/frame_text.ts";
import { boolean, duration } from "../../settings/option_types.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { addressChecks, addressOptions, type AddressSettings } from "./options.ts";
import { runOnServer, writeJson } from "../../client/server_command.ts";
import { type UnitsChoice, unitsOf, unitsOptions } from "../../client/units_options.ts";

/** Settings of `vbg request`. */
export interface RequestSettings extends ClientSettings, AddressSettings, UnitsChoice {
  timeoutMs: number;
  decode: boolean;
}

/** Settings that only the command line has. */
const here = { key: [], environment: false } as const;

/** Name, operands and settings of `vbg request`. */
export const program: Program<RequestSettings> = {
  name: "vbg request",
  version: VERSION,
  summary: "requests a message from the devices of a boat (ISO request) and prints the first reply",
  options: {
    ...serverOptions(),
    ...addressOptions(),
    timeoutMs: duration({
      name: "timeout",
      ...here,
      default: 2000,
      minMs: 1,
      help: "Longest wait for the reply; the server limits it with -query-max-timeout.",
      group: "Message",
    }),
    ...outputOptions(),
    decode: boolean({
      name: "decode",
      ...here,
      default: true,
      help: "Show the fields of the reply; JSON also has the payload.",
      group: "Output",
    }),
    ...unitsOptions(),
    ...programOptions(),
  },
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
