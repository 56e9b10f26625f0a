/**
 * `vbg pgns`: definitions of messages.
 *
 * @module
 */
import type { KnownPgn, PgnDetails } from "@vessel/gateway/client";
import { describePgn, listPgns } from "@vessel/gateway/pgn";
import {
  type ClientSettings,
  outputOptions,
  serverChecks,
  serverOptions,
  wantsJson,
} from "../../client/client_options.ts";
import { advised } from "../../client/server_advice.ts";
import { serverContextOf, writeJson } from "../../client/server_command.ts";
import { EXIT, outputOf, type Program, type ProgramContext, runOnce, SettingsError } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { pgnDetailsText, pgnListText } from "./pgns_text.ts";

/** Name, operands and settings of `vbg pgns`. */
export const program: Program<ClientSettings> = {
  name: "vbg pgns",
  summary:
    "lists the messages that can be decoded, all or those with the given words, or shows the definition of one " +
    "PGN. With -server, -boat or -cloud: those that the server can decode",
  options: { ...serverOptions, ...outputOptions, ...programOptions },
  checks: serverChecks,
  positionals: "[PGN|WORD ...]",
};

/** Definitions of this program or of a server. */
interface Definitions {
  list(): Promise<KnownPgn[]>;
  /** Undefined without a definition. */
  one(pgn: number): Promise<PgnDetails | undefined>;
}

/** Definitions of this program. */
const OWN: Definitions = {
  list: () => Promise.resolve(Array.from(listPgns())),
  one: (pgn) => Promise.resolve(describePgn(pgn)),
};

/** Runs `vbg pgns`. Returns the exit code: 1 if nothing was found. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, words) => {
      const output = outputOf(context);
      const json = wantsJson(settings, output);
      const form = { width: output.columns, color: output.hasColor };
      const definitions = await definitionsOf(settings, context);
      const [word = ""] = words;
      try {
        if (/^\d+$/.test(word)) {
          if (words.length > 1) throw new SettingsError("Cannot show several PGNs at once: expected one");
          const details = await definitions.one(Number(word));
          if (details === undefined) {
            throw new Error(`PGN ${word} has no definition: vbg pgns lists those that have one`);
          }
          await (json ? writeJson(output, details) : output.write(pgnDetailsText(details, form) + "\n"));
          return;
        }
        const found = (await definitions.list()).filter((each) => hasAll(each, words));
        if (found.length === 0 && !json) throw new Error(`No message description contains "${words.join(" ")}"`);
        await (json ? writeJson(output, found) : output.write(pgnListText(found, form) + "\n"));
        return found.length === 0 ? EXIT.failure : EXIT.ok;
      } catch (error) {
        throw advised(error);
      }
    },
  });
}

async function definitionsOf(settings: ClientSettings, context: ProgramContext): Promise<Definitions> {
  if (settings.server === undefined && settings.boat === undefined && !settings.cloud) return OWN;
  const { client, signal } = await serverContextOf(settings, { context, name: program.name });
  return { list: () => client.pgns({ signal }), one: (pgn) => client.pgn(pgn, { signal }) };
}

function hasAll({ description }: KnownPgn, words: readonly string[]): boolean {
  const text = description.toLowerCase();
  return words.every((word) => text.includes(word.toLowerCase()));
}
