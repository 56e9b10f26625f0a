/**
 * `vbg ledger`: shows what became of every frame and message of a boat.
 *
 * @module
 */
import { systemClock } from "@vessel/gateway/base";
import { ledgerOfDirectory, type LedgerReport } from "@vessel/gateway/journal";
import { outputOptions, serverChecks, serverOptions, wantsJson } from "../../client/client_options.ts";
import { advised } from "../../client/server_advice.ts";
import { serverContextOf, writeJson } from "../../client/server_command.ts";
import { timeOf, type When, when } from "../../client/time_option.ts";
import {
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { optional } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { warningsTo } from "../dump/recorded_inputs.ts";
import { ledgerText } from "./ledger_text.ts";

const DEFAULT_FROM: When = { kind: "ago", ms: 86_400_000 };

const options = {
  ...serverOptions,
  from: optional(when("from", {
    default: DEFAULT_FROM,
    help: "Begin: RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago: 12h, P30D. Without it: 24 hours ago; of a " +
      "directory: everything.",
  })),
  to: optional(when("to", { default: { kind: "ago", ms: 0 }, help: "End, in the same forms. Without it: now." })),
  ...outputOptions,
  ...programOptions,
};

type LedgerSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg ledger`. */
export const program: Program<LedgerSettings> = {
  name: "vbg ledger",
  summary:
    "shows what became of every frame and message of a boat: received, dropped, incomplete, recorded, in the cloud, " +
    "missing, each with its reason; of a server, or of a journal directory. Exit code 1: the sums are not exact",
  options,
  checks: serverChecks,
  positionals: "[DIR]",
};

/** Runs `vbg ledger`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, words) => {
      const [directory] = words;
      if (words.length > 1) throw new UsageError("Cannot read several directories: expected one");
      if (directory !== undefined && (settings.server ?? settings.boat) !== undefined) {
        throw new UsageError("Cannot use -server or -boat with a directory: it is read without a server");
      }
      const output = outputOf(context);
      const report = await (directory === undefined ? ofServer(settings, context) : ofDirectory(settings, {
        directory,
        context,
      }));
      if (wantsJson(settings, output)) await writeJson(output, report);
      else await output.write(ledgerText(report));
      return report.closed ? EXIT.ok : EXIT.failure;
    },
  });
}

async function ofServer({ from, to, ...settings }: LedgerSettings, context: ProgramContext): Promise<LedgerReport> {
  const { client, signal, clock } = await serverContextOf(settings, { context, name: program.name });
  const nowMs = clock.wallUs() / 1000;
  try {
    return await client.ledger({
      ...(from && { from: timeOf(from, nowMs) }),
      ...(to && { to: timeOf(to, nowMs) }),
    }, { signal });
  } catch (error) {
    throw advised(error);
  }
}

async function ofDirectory(
  { from, to }: LedgerSettings,
  { directory, context }: { directory: string; context: ProgramContext },
): Promise<LedgerReport> {
  const nowMs = systemClock.wallUs() / 1000;
  const usOf = (time: When | undefined) => time && Date.parse(timeOf(time, nowMs)) * 1000;
  const log = warningsTo((text) => context.printError(`${program.name}: ${text}`));
  return await ledgerOfDirectory(directory, { log, signal: stopSignalOf(context), fromUs: usOf(from), toUs: usOf(to) });
}
