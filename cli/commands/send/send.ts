/**
 * `vbg send`: sends a message on a bus.
 *
 * @module
 */
import type { MessageToSend } from "@vessel/gateway/client";
import { nameOf } from "../../client/frame_text.ts";
import { runOnServer, writeJson } from "../../client/server_command.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { digitsOf, sendCommandChecks, sendCommandOptions, type SendSettings } from "./options.ts";

/** Name, operands and settings of `vbg send`. */
export const program: Program<SendSettings> = {
  name: "vbg send",
  summary: "sends a message on a bus of the boat, if its server allows it",
  options: sendCommandOptions,
  checks: sendCommandChecks,
};

const BROADCAST = 255;

/** Runs `vbg send`. Returns the exit code: 0 if the server has queued the message. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    run: async (settings, { client, output, json, signal, serverText }) => {
      const message = messageOf(settings);
      await client.send(message, { signal });
      const { pgn, dst = BROADCAST } = message;
      if (json) return await writeJson(output, { queued: message });
      const name = nameOf(pgn);
      const to = dst === BROADCAST ? "all devices" : `address ${dst}`;
      await output.write(`Queued at ${serverText()}: PGN ${pgn}${name === undefined ? "" : ` ${name}`} to ${to}\n`);
    },
  });
}

function messageOf({ pgn = 0, data, fields, dst, src, prio, bus }: SendSettings): MessageToSend {
  const head = {
    pgn,
    dst,
    ...(src !== undefined && { src }),
    ...(prio !== undefined && { prio }),
    ...(bus !== undefined && { bus }),
  };
  return fields === undefined ? { ...head, data: digitsOf(data ?? "") } : { ...head, fields };
}
