/**
 * `vbg-cloud ca`: the certificate authority for boats and clouds.
 *
 * @module
 */
import { systemClock } from "@vessel/gateway/base";
import { Authority, CertificateError, FilesExistError, initAuthority, readIssued } from "@vessel/gateway/cloud";
import type { CommandFile } from "../../program/dispatch.ts";
import { type Program, type ProgramContext, runOnce, SettingsError, UsageError } from "../../program/program.ts";
import type { ProgramSettings } from "../../settings/common_options.ts";
import {
  caInitOptions,
  type CaInitSettings,
  caIssueOptions,
  type CaIssueSettings,
  caListOptions,
  type CaListSettings,
  caRevokeOptions,
  type CaRevokeSettings,
} from "./options.ts";
import {
  formatBoat,
  formatInit,
  formatList,
  formatListJson,
  formatNode,
  formatRevoked,
  formatServer,
} from "./report.ts";

const clock = systemClock;

const initProgram: Program<CaInitSettings> = {
  name: "vbg-cloud ca init",
  summary: "creates an authority whose certificates boats and cloud trust",
  options: caInitOptions,
};

const issueProgram: Program<CaIssueSettings> = {
  name: "vbg-cloud ca issue",
  summary:
    "creates a certificate for a boat, named by its instance id; with -host or -ip for the cloud; with -node for a node",
  options: caIssueOptions,
  positionals: "[BOAT]",
};

const revokeProgram: Program<CaRevokeSettings> = {
  name: "vbg-cloud ca revoke",
  summary: "revokes the certificates of a boat, named by its instance id, or with -node of a node",
  options: caRevokeOptions,
  positionals: "[BOAT]",
};

const listProgram: Program<CaListSettings> = {
  name: "vbg-cloud ca list",
  summary: "lists all certificates of the authority",
  options: caListOptions,
};

/** `vbg-cloud ca init`. */
export const initCommand: CommandFile = {
  program: initProgram,
  run: (context) =>
    runCommand(initProgram, {
      context,
      run: async ({ caDir, name, days }) => {
        const { notAfterMs } = await initAuthority(caDir, { name, days, clock });
        return formatInit(caDir, notAfterMs);
      },
    }),
};

/** `vbg-cloud ca issue`. */
export const issueCommand: CommandFile = {
  program: issueProgram,
  run: (context) =>
    runCommand(issueProgram, {
      context,
      run: async ({ caDir, hosts, ips, node, days, force }, words) => {
        const isServer = node !== undefined || hosts.length + ips.length > 0;
        const boat = isServer
          ? noWord(words, "-host and -ip create the cloud's certificate, or with -node a node's, not a boat's")
          : oneBoat(words, { orElse: "; -host or -ip create the cloud's certificate" });
        using authority = await Authority.open(caDir, { clock });
        const options = { days, isForced: force };
        const names = { hosts, ips };
        if (node !== undefined) {
          return formatNode(await authority.issueNode(node, { ...options, names }), { caDir, names });
        }
        if (boat === undefined) {
          return formatServer(await authority.issueServer(names, options), caDir);
        }
        const made = await authority.issueBoat(boat, options);
        return formatBoat(made, { caDir, servers: authority.issued.filter(({ kind }) => kind === "server") });
      },
    }),
};

/** `vbg-cloud ca revoke`. */
export const revokeCommand: CommandFile = {
  program: revokeProgram,
  run: (context) =>
    runCommand(revokeProgram, {
      context,
      run: async ({ caDir, node, serial }, words) => {
        if (node !== undefined) noWord(words, "-node revokes a node's certificates, not a boat's");
        const name = node ?? oneBoat(words);
        using authority = await Authority.open(caDir, { clock });
        const kind = node === undefined ? "boat" : "node";
        return formatRevoked(await authority.revoke(name, { kind, serial }), caDir);
      },
    }),
};

/** `vbg-cloud ca list`. */
export const listCommand: CommandFile = {
  program: listProgram,
  run: (context) =>
    runCommand(listProgram, {
      context,
      run: async ({ caDir, json }) => {
        const nowMs = clock.wallUs() / 1000;
        return (json ? formatListJson : formatList)(await readIssued(caDir), nowMs);
      },
    }),
};

/** Runs a command that returns the text to print, if any. */
async function runCommand<S extends ProgramSettings>(
  program: Program<S>,
  { context, run }: { context: ProgramContext; run: (settings: S, words: readonly string[]) => Promise<string> },
): Promise<number> {
  return await runOnce(program, {
    context,
    run: async (settings, words) => {
      try {
        const text = await run(settings, words);
        if (text !== "") context.print(text);
      } catch (error) {
        if (!(error instanceof CertificateError)) throw error;
        const hint = error instanceof FilesExistError ? "; -force overwrites it" : "";
        throw new SettingsError(error.message + hint, { cause: error });
      }
    },
  });
}

function oneBoat(words: readonly string[], { orElse = "" } = {}): string {
  const [boat, ...others] = words;
  if (boat !== undefined && others.length === 0) return boat;
  throw new UsageError(`Missing boat: expected one instance id, found ${words.length}${orElse}`);
}

function noWord([word]: readonly string[], why: string): undefined {
  if (word === undefined) return undefined;
  throw new UsageError(`Unexpected argument "${word}": ${why}`);
}
