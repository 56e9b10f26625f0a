/**
 * `vbg-cloud`, the cloud server that boats replicate to, and what its certificates need.
 *
 * @module
 */
import { type CommandSet, dispatch } from "./program/dispatch.ts";
import { processContext, type ProgramContext } from "./program/program.ts";

/** The program with all its commands. */
export const cloud: CommandSet = {
  name: "vbg-cloud",
  summary: "the cloud server of the Vessel Bus Gateway",
  otherwise: {
    summary: "serves boats that replicate to it, and everybody who asks for what they have sent",
    load: async () => (await import("./commands/cloud/server.ts")).serverCommand,
  },
  commands: {
    ca: {
      summary: "certificates for boats and for the cloud",
      commands: {
        init: {
          summary: "makes an authority, whose certificates boats and cloud trust",
          load: async () => (await import("./commands/ca/ca.ts")).initCommand,
        },
        issue: {
          summary: "makes a certificate for a boat or for the cloud",
          load: async () => (await import("./commands/ca/ca.ts")).issueCommand,
        },
        revoke: {
          summary: "has a boat's certificates refused from now on",
          load: async () => (await import("./commands/ca/ca.ts")).revokeCommand,
        },
        list: {
          summary: "shows all certificates that were made",
          load: async () => (await import("./commands/ca/ca.ts")).listCommand,
        },
      },
    },
    "import-lplex": {
      summary: "takes over the data directory of an lplex cloud",
      load: async () => (await import("./commands/cloud/import_lplex.ts")).importCommand,
    },
  },
};

/** Runs the command that the first words name, or the server. Answers the exit code. */
export async function runCloud(around: ProgramContext): Promise<number> {
  return await dispatch(cloud, around);
}

if (import.meta.main) Deno.exit(await runCloud(processContext()));
