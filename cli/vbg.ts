/**
 * `vbg`, the client, with a command for each task.
 *
 * @module
 */
import { type CommandSet, dispatch } from "./program/dispatch.ts";
import { processContext, type ProgramContext } from "./program/program.ts";

/** The program with all its commands. */
export const vbg: CommandSet = {
  name: "vbg",
  summary: "the client of the Vessel Bus Gateway",
  note:
    "Commands that read a boat choose it by -server URL or -boat NAME. Without these: VBG_BOAT, else default-boat of " +
    "~/.config/vbg/vbg.conf, else its only boat, else the only server on the network, else a server of this machine on " +
    "port 8089 or 8080.",
  commands: {
    alarms: { summary: "lists the alarms of recordings", load: () => import("./commands/alarms/alarms.ts") },
    "archive-s3": {
      summary: "copies journal files to an S3-compatible store",
      load: () => import("./commands/archive_s3/archive_s3.ts"),
    },
    audit: {
      summary: "compares a boat's journal with what a cloud holds of it",
      load: () => import("./commands/audit/audit.ts"),
    },
    completion: {
      summary: "prints the completion script for bash, zsh or fish",
      load: async () => (await import("./commands/completion/completion.ts")).completionCommand(vbg),
    },
    convert: {
      summary: "converts recordings of other programs into a journal",
      load: () => import("./commands/convert/convert.ts"),
    },
    dashboard: { summary: "the same as top", load: () => import("./commands/top/top.ts") },
    devices: {
      summary: "lists the devices seen on the buses",
      load: () => import("./commands/read/devices.ts"),
    },
    doctor: {
      summary: "checks a server and the machine that it runs on",
      load: () => import("./commands/doctor/doctor.ts"),
    },
    dump: {
      summary: "shows live frames of a boat, or frames of recordings",
      load: () => import("./commands/dump/dump.ts"),
    },
    export: {
      summary: "makes CSV, Parquet and other files out of recordings",
      load: () => import("./commands/export/export.ts"),
    },
    history: {
      summary: "prints recorded messages of a boat, the oldest first",
      load: () => import("./commands/read/history.ts"),
    },
    inspect: {
      summary: "shows the blocks of journal files",
      load: () => import("./commands/inspect/inspect.ts"),
    },
    ledger: {
      summary: "shows what became of every frame and message",
      load: () => import("./commands/ledger/ledger.ts"),
    },
    loadtest: {
      summary: "measures the load that a boat server sustains on this machine, or a cloud with many boats",
      load: () => import("./commands/loadtest/loadtest.ts"),
    },
    mark: {
      summary: "keeps the frames around now in the boat's black box",
      load: () => import("./commands/mark/mark.ts"),
    },
    mcp: {
      summary: "lets programs and language models read a boat (Model Context Protocol)",
      load: () => import("./commands/mcp/mcp.ts"),
    },
    pgns: {
      summary: "lists the messages that can be decoded, or shows one definition",
      load: () => import("./commands/read/pgns.ts"),
    },
    query: {
      summary: "runs SQL over recordings, or over the journal of a server",
      load: () => import("./commands/query/query.ts"),
    },
    repair: {
      summary: "copies the readable part of a damaged journal to new files",
      load: () => import("./commands/repair/repair.ts"),
    },
    report: {
      summary: "writes a page and a zip file to send to a dealer",
      load: () => import("./commands/report/report.ts"),
    },
    request: {
      summary: "requests a message from the devices of a boat",
      load: () => import("./commands/send/request.ts"),
    },
    send: { summary: "sends a message on a bus of the boat", load: () => import("./commands/send/send.ts") },
    simulate: {
      summary: "plays a recording as a boat server",
      load: () => import("./commands/simulate/simulate.ts"),
    },
    switches: {
      summary: "shows banks of switches, or sets switches",
      commands: {
        set: {
          summary: "sets switches of a bank, and waits for the report of their states",
          load: () => import("./commands/switches/set.ts"),
        },
      },
      otherwise: {
        summary: "shows the banks of switches and their states",
        load: () => import("./commands/switches/switches.ts"),
      },
    },
    tail: {
      summary: "follows the frames of a boat, after the last recorded ones",
      load: () => import("./commands/tail/tail.ts"),
    },
    top: { summary: "shows a boat live on a terminal", load: () => import("./commands/top/top.ts") },
    values: {
      summary: "shows the last message of each kind from each device",
      load: () => import("./commands/read/values.ts"),
    },
    verify: {
      summary: "reads every frame of a journal and reports damage",
      load: () => import("./commands/verify/verify.ts"),
    },
    voyages: {
      summary: "lists the voyages of a boat, or writes their tracks as GPX",
      load: () => import("./commands/voyages/voyages.ts"),
    },
  },
};

/** Runs the command of the first word. Returns the exit code. */
export async function runVbg(context: ProgramContext): Promise<number> {
  return await dispatch(vbg, context);
}

if (import.meta.main) Deno.exit(await runVbg(processContext()));
