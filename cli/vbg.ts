/**
 * `vbg`, the client: one command for each thing to do with a boat's data.
 *
 * @module
 */
import { type CommandSet, dispatch } from "./dispatch.ts";
import { processSurroundings, type Surroundings } from "./program.ts";

/** The program with all its commands. */
export const vbg: CommandSet = {
  name: "vbg",
  summary: "the client of the Vessel Bus Gateway",
  commands: {
    alarms: { summary: "lists the alarms of recordings", load: () => import("./alarms.ts") },
    "archive-s3": { summary: "sends journal files to an S3-compatible store", load: () => import("./archive_s3.ts") },
    audit: { summary: "compares a boat's journal with what a cloud holds of it", load: () => import("./audit.ts") },
    convert: { summary: "makes a journal of recordings of other programs", load: () => import("./convert.ts") },
    inspect: { summary: "shows what is in journal files, block by block", load: () => import("./inspect.ts") },
    repair: { summary: "writes what can be read of a damaged journal anew", load: () => import("./repair.ts") },
    simulate: { summary: "plays a recording through the server of a boat", load: () => import("./simulate.ts") },
    verify: { summary: "reads every frame of a journal, and tells what is damaged", load: () => import("./verify.ts") },
  },
};

/** Runs the command that the first word names. Answers the exit code. */
export async function runVbg(around: Surroundings): Promise<number> {
  return await dispatch(vbg, around);
}

if (import.meta.main) Deno.exit(await runVbg(processSurroundings()));
