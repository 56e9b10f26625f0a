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
    summary: "receives the frames of boats and serves them over HTTP",
    load: async () => (await import("./commands/cloud/server.ts")).serverCommand,
  },
  commands: {
    ca: {
      summary: "certificates for boats and for the cloud",
      commands: {
        init: {
          summary: "creates an authority whose certificates boats and cloud trust",
          load: async () => (await import("./commands/ca/ca.ts")).initCommand,
        },
        issue: {
          summary: "creates a certificate for a boat, the cloud or a node",
          load: async () => (await import("./commands/ca/ca.ts")).issueCommand,
        },
        revoke: {
          summary: "revokes the certificates of a boat or node",
          load: async () => (await import("./commands/ca/ca.ts")).revokeCommand,
        },
        list: {
          summary: "lists all certificates",
          load: async () => (await import("./commands/ca/ca.ts")).listCommand,
        },
      },
    },
    store: {
      summary: "frames of boats in an object store",
      commands: {
        check: {
          summary: "verifies the objects of boats",
          load: async () => (await import("./commands/store/check.ts")).checkCommand,
        },
        migrate: {
          summary: "copies boats between a data directory and a store",
          load: async () => (await import("./commands/store/migrate.ts")).migrateCommand,
        },
      },
    },
    "import-lplex": {
      summary: "imports the data directory of an lplex cloud",
      load: async () => (await import("./commands/cloud/import_lplex.ts")).importCommand,
    },
  },
};

/** Runs the command of the first words, or the server. Returns the exit code. */
export async function runCloud(context: ProgramContext): Promise<number> {
  return await dispatch(cloud, context);
}

if (import.meta.main) Deno.exit(await runCloud(processContext()));
