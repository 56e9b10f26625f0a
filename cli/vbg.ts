/**
 * `vbg`, the client: one command for each thing to do with a boat's data.
 *
 * @module
 */
import { type CommandSet, dispatch } from "./program/dispatch.ts";
import { processContext, type ProgramContext } from "./program/program.ts";

/** The program with all its commands. */
export const vbg: CommandSet = {
  name: "vbg",
  summary: "the client of the Vessel Bus Gateway",
  commands: {
    alarms: { summary: "lists the alarms of recordings", load: () => import("./commands/alarms/alarms.ts") },
    "archive-s3": {
      summary: "sends journal files to an S3-compatible store",
      load: () => import("./commands/archive_s3/archive_s3.ts"),
    },
    audit: {
      summary: "compares a boat's journal with what a cloud holds of it",
      load: () => import("./commands/audit/audit.ts"),
    },
    completion: {
      summary: "prints the completion of all programs for bash, zsh or fish",
      load: async () => (await import("./commands/completion/completion.ts")).completionCommand(vbg),
    },
    convert: {
      summary: "converts recordings of other programs into a journal",
      load: () => import("./commands/convert/convert.ts"),
    },
    dashboard: { summary: "the same as top", load: () => import("./commands/top/top.ts") },
    devices: {
      summary: "lists the devices that were heard on the buses",
      load: () => import("./commands/read/devices.ts"),
    },
    doctor: {
      summary: "checks a server and the machine that it runs on",
      load: () => import("./commands/doctor/doctor.ts"),
    },
    dump: {
      summary: "shows frames of a boat as they come, or those of recordings",
      load: () => import("./commands/dump/dump.ts"),
    },
    history: {
      summary: "prints recorded messages of a boat, oldest first",
      load: () => import("./commands/read/history.ts"),
    },
    inspect: {
      summary: "shows what is in journal files, block by block",
      load: () => import("./commands/inspect/inspect.ts"),
    },
    loadtest: {
      summary: "measures how much a boat server takes on this machine",
      load: () => import("./commands/loadtest/loadtest.ts"),
    },
    pgns: {
      summary: "lists the messages that can be decoded, or shows all about one",
      load: () => import("./commands/read/pgns.ts"),
    },
    repair: {
      summary: "writes the readable part of a damaged journal into new files",
      load: () => import("./commands/repair/repair.ts"),
    },
    request: { summary: "asks the devices of a boat for a message", load: () => import("./commands/send/request.ts") },
    send: { summary: "sends a message on a bus of the boat", load: () => import("./commands/send/send.ts") },
    simulate: {
      summary: "plays a recording through the server of a boat",
      load: () => import("./commands/simulate/simulate.ts"),
    },
    switches: {
      summary: "shows the banks of switches, or sets switches",
      commands: {
        set: {
          summary: "sets switches of a bank, and waits until the bank reports their state",
          load: () => import("./commands/switches/set.ts"),
        },
      },
      otherwise: {
        summary: "shows the banks of switches and their states",
        load: () => import("./commands/switches/switches.ts"),
      },
    },
    tail: {
      summary: "follows the frames of a boat, from the last ones on",
      load: () => import("./commands/tail/tail.ts"),
    },
    top: { summary: "shows a boat live on a terminal", load: () => import("./commands/top/top.ts") },
    values: {
      summary: "shows the newest message of each kind from each device",
      load: () => import("./commands/read/values.ts"),
    },
    verify: {
      summary: "reads every frame of a journal and reports damage",
      load: () => import("./commands/verify/verify.ts"),
    },
  },
};

/** Runs the command that the first word names. Answers the exit code. */
export async function runVbg(around: ProgramContext): Promise<number> {
  return await dispatch(vbg, around);
}

if (import.meta.main) Deno.exit(await runVbg(processContext()));
