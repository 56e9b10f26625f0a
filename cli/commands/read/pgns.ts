/**
 * `vbg pgns`: what is known about messages.
 *
 * @module
 */
import type { KnownPgn, PgnDetails } from "@vessel/gateway/client";
import { VERSION } from "@vessel/gateway/version";
import { describePgn, listPgns } from "@vessel/gateway/pgn";
import {
  type ClientSettings,
  outputOptions,
  serverChecks,
  serverOptions,
  wantsJson,
} from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { pgnDetailsText, pgnListText } from "./pgns_text.ts";
import { EXIT, outputOf, type Program, type ProgramContext, runOnce, SettingsError } from "../../program/program.ts";
import { advised } from "../../client/server_advice.ts";
import { askingOf, writeJson } from "../../client/server_command.ts";

/** Name, operands and settings of `vbg pgns`. */
export const program: Program<ClientSettings> = {
  name: "vbg pgns",
  version: VERSION,
  summary: "lists the messages that can be decoded, all or those with some words, or tells all about one PGN; asks a " +
    "server where -server, -boat or -cloud is given",
  options: { ...serverOptions(), ...outputOptions(), ...programOptions() },
  checks: serverChecks,
  positionals: "[PGN|WORD ...]",
};

/** Where the facts come from. */
interface Facts {
  list(): Promise<KnownPgn[]>;
  /** Undefined: nothing is known. */
  one(pgn: number): Promise<PgnDetails | undefined>;
}

/** Facts of this program. */
const OWN: Facts = {
  list: () => Promise.resolve(Array.from(listPgns())),
  one: (pgn) => Promise.resolve(describePgn(pgn)),
};

/** Runs `vbg pgns`. Returns the exit code: 1 when nothing is known of what was asked for. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnce(program, {
    around,
    interrupted: EXIT.interrupted,
    run: async (settings, words) => {
      const output = outputOf(around);
      const json = wantsJson(settings, output);
      const form = { width: output.columns, color: output.hasColor };
      const facts = await factsOf(settings, around);
      const [word = ""] = words;
      try {
        if (/^\d+$/.test(word)) {
          if (words.length > 1) throw new SettingsError(`Cannot tell of several PGNs at once: expected one`);
          const details = await facts.one(Number(word));
          if (details === undefined) throw new Error(`PGN ${word} is not described: vbg pgns lists those that are`);
          await (json ? writeJson(output, details) : output.write(pgnDetailsText(details, form) + "\n"));
          return EXIT.ok;
        }
        const found = (await facts.list()).filter((each) => hasAll(each, words));
        if (found.length === 0 && !json) throw new Error(`No message is called "${words.join(" ")}"`);
        await (json ? writeJson(output, found) : output.write(pgnListText(found, form) + "\n"));
        return found.length === 0 ? EXIT.failure : EXIT.ok;
      } catch (error) {
        throw advised(error);
      } finally {
        await output.flush();
      }
    },
  });
}

async function factsOf(settings: ClientSettings, around: ProgramContext): Promise<Facts> {
  if (settings.server === undefined && settings.boat === undefined && !settings.cloud) return OWN;
  const { client, signal } = await askingOf(settings, { around, name: program.name });
  return { list: () => client.pgns({ signal }), one: (pgn) => client.pgn(pgn, { signal }) };
}

function hasAll({ description }: KnownPgn, words: readonly string[]): boolean {
  const text = description.toLowerCase();
  return words.every((word) => text.includes(word.toLowerCase()));
}
