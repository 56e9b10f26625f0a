/**
 * `vbg history`: what was recorded.
 *
 * @module
 */
import type { ClientFrame, HistoryQuery } from "@vessel/gateway/client";
import { VERSION } from "@vessel/gateway/version";
import { frameText } from "./frame_text.ts";
import { historyChecks, historyOptions, type HistorySettings, timeOf } from "./history_command_options.ts";
import { filterOf } from "./client_options.ts";
import type { Program, Surroundings } from "./program.ts";
import { type Asking, runOnServer } from "./server_command.ts";
import { unitsOf } from "./units_options.ts";

/** The command's name, words and settings. */
export const program: Program<HistorySettings> = {
  name: "vbg history",
  version: VERSION,
  summary: "prints recorded messages of a boat, oldest first: a line each",
  options: historyOptions,
  checks: historyChecks,
};

/** Runs the command. Answers the exit code. */
export async function run(around: Surroundings): Promise<number> {
  return await runOnServer(program, { around, run: printHistory });
}

async function printHistory(settings: HistorySettings, asking: Asking): Promise<void> {
  const { client, output, errors, status, json, signal } = asking;
  const units = unitsOf(settings, output);
  const line = json ? (frame: ClientFrame) => JSON.stringify(frame) : (frame: ClientFrame) => frameText(frame, units);
  const query = queryOf(settings, asking);
  await asking.doubtFilter(query);
  let count = 0;
  for await (const frame of client.history(query, { signal })) {
    count++;
    // Awaited only when much has come together: thus printing keeps pace with reading.
    const full = output.write(line(frame) + "\n");
    if (full) await full;
  }
  if (count === settings.limit) await errors.write(`These were the first ${count}: -limit asks for more\n`);
  else if (count === 0 && output.isTerminal) await status.write("Nothing was recorded then, or nothing that fits\n");
  await errors.flush();
}

function queryOf(settings: HistorySettings, { clock, exclusions }: Asking): HistoryQuery {
  const { from, to, interval, limit, decode, labels, src } = settings;
  const nowMs = clock.wallUs() / 1000;
  return {
    ...filterOf(settings, exclusions),
    from: timeOf(from, nowMs),
    ...(to !== undefined && { to: timeOf(to, nowMs) }),
    ...(interval !== undefined && { interval: `${interval}ms` }),
    ...(src.length > 0 && { src: src.map(Number) }),
    limit,
    decode: decode || labels,
    ...(labels && { labels }),
  };
}
