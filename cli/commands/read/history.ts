/**
 * `vbg history`: prints recorded messages.
 *
 * @module
 */
import type { ClientFrame, HistoryQuery } from "@vessel/gateway/client";
import { filterOf, unitsOf } from "../../client/client_options.ts";
import { runOnServer, type ServerContext } from "../../client/server_command.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { type Output, paint } from "../../program/terminal.ts";
import { LiveDump } from "../dump/frame.ts";
import { DumpView } from "../dump/view.ts";
import { timeOf } from "../../client/time_option.ts";
import { historyChecks, historyOptions, type HistorySettings } from "./history_options.ts";

/** Name, operands and settings of `vbg history`. */
export const program: Program<HistorySettings> = {
  name: "vbg history",
  summary: "prints recorded messages of a boat, oldest first: a line each",
  options: historyOptions,
  checks: historyChecks,
};

/** Characters of the date in a time. */
const DATE_LENGTH = 10;

/** Runs `vbg history`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, { context, run: printHistory });
}

async function printHistory(settings: HistorySettings, server: ServerContext): Promise<void> {
  const { client, output, errors, status, json, signal } = server;
  const show = json ? (frame: ClientFrame) => output.write(JSON.stringify(frame) + "\n") : linesOf(settings, output);
  const query = queryOf(settings, server);
  await server.doubtFilter(query);
  let count = 0;
  for await (const frame of client.history(query, { signal })) {
    count++;
    // Awaited only per batch: backpressure without a wait per frame.
    const full = show(frame);
    if (full) await full;
  }
  if (count === settings.limit) await errors.write(`Only the first ${count} messages are shown: -limit allows more\n`);
  else if (count === 0 && output.isTerminal) await status.write("No recorded message in this time matches\n");
  await errors.flush();
}

/** Prints frames as `vbg dump` does, with a heading for each day, since the lines have no date. */
function linesOf(settings: HistorySettings, output: Output): (frame: ClientFrame) => Promise<void> | void {
  const units = unitsOf(settings, output);
  const decode = settings.decode || settings.labels;
  const view = new DumpView({ output, units, decode, json: false, where: undefined, changes: false });
  let date = "";
  const beginDay = async (frame: ClientFrame) => {
    date = frame.ts.slice(0, DATE_LENGTH);
    await output.write(`${paint(output, "bold", date)}\n`);
    await view.show(new LiveDump(frame));
  };
  return (frame) => frame.ts.slice(0, DATE_LENGTH) === date ? view.show(new LiveDump(frame)) : beginDay(frame);
}

function queryOf(settings: HistorySettings, { clock, exclusions, json }: ServerContext): HistoryQuery {
  const { from, to, interval, limit, decode, labels, src } = settings;
  const nowMs = clock.wallUs() / 1000;
  return {
    ...filterOf(settings, exclusions),
    from: timeOf(from, nowMs),
    ...(to !== undefined && { to: timeOf(to, nowMs) }),
    ...(interval !== undefined && { interval: `${interval}ms` }),
    ...(src.length > 0 && { src: src.map(Number) }),
    limit,
    // Lines for people are decoded here.
    decode: json && (decode || labels),
    ...(json && labels && { labels }),
  };
}
