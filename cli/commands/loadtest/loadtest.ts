/**
 * `vbg loadtest`: measures a boat server under load on this machine, or a cloud with a fleet of boats.
 *
 * @module
 */
import type { RecordingOptions } from "@vessel/gateway";
import { systemClock } from "@vessel/gateway/base";
import { JOURNAL_DIRECTORY_MODE } from "@vessel/gateway/journal";
import { wantsJson } from "../../client/client_options.ts";
import {
  errorsOf,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
  stopSignalOf,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { count } from "../inspect/file.ts";
import { fleetTest } from "./fleet.ts";
import { loadtestChecks, loadtestOptions, type LoadtestSettings } from "./options.ts";
import { type LoadReport, runLoad } from "./run.ts";

/** Frames a second where none are given. */
const DEFAULT_RATE = 1000;

/** Name, operands and settings of `vbg loadtest`. */
export const program: Program<LoadtestSettings> = {
  name: "vbg loadtest",
  summary:
    "starts a boat server on a bus in memory, with sending devices and reading clients in the same process, and " +
    "reports rates, drops, latency and memory; with -cloud connects a fleet of boats to a cloud, and reports rates, " +
    "waits, errors and what the cloud has not stored",
  options: loadtestOptions,
  checks: loadtestChecks,
};

/** Runs `vbg loadtest`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    run: (settings) => settings.cloud === undefined ? loadtest(settings, context) : fleetTest(settings, context),
  });
}

async function loadtest(settings: LoadtestSettings, context: ProgramContext): Promise<void> {
  const output = outputOf(context);
  const journal = await recordingOf(settings.journalDir);
  const { rate = DEFAULT_RATE } = settings;
  const total = Math.floor(rate * settings.durationMs / 1000);
  const progress = new Progress({ output: errorsOf(context), total, unit: "frames", clock: systemClock });
  try {
    const onSent = (frames: number) => progress.add(frames);
    const signal = stopSignalOf(context, { hangUp: journal !== undefined });
    const report = await runLoad({ ...settings, rate, journal, signal, clock: systemClock, onSent });
    const text = wantsJson(settings, output) ? formatJson(report) : formatText(report);
    await output.write(`${text}\n`);
  } finally {
    progress.done();
    if (journal) await Deno.remove(journal.stateDirectory, { recursive: true });
  }
}

async function recordingOf(directory: string | undefined): Promise<RecordingOptions | undefined> {
  if (directory === undefined) return undefined;
  await Deno.mkdir(directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
  for await (const { name } of Deno.readDir(directory)) {
    throw new SettingsError(
      `Cannot record in "${directory}": it contains "${name}", and test frames must not mix with others`,
    );
  }
  return { directory, stateDirectory: await Deno.makeTempDir({ prefix: "vbg_loadtest_" }) };
}

function formatText({ sent, seconds, consumers, latencies, memory }: LoadReport): string {
  const ms = (part: number) => `${(latencies.quantileMs(part) ?? 0).toFixed(2)} ms`;
  const mega = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  return [
    `sent: ${count(sent, "frame")} in ${seconds.toFixed(1)} s, ${Math.round(sent / seconds)}/s`,
    ...consumers.map(({ received, dropped }, index) =>
      `client ${index + 1}: ${count(received, "frame")}, ${dropped} dropped, ${sent - received - dropped} missing`
    ),
    ...latencies.count > 0
      ? [`latency: p50 ${ms(0.5)}, p99 ${ms(0.99)}, p99.9 ${ms(0.999)}, most ${latencies.maxMs.toFixed(2)} ms`]
      : [],
    `memory: ${mega(memory.beforeBytes)} before, at most ${mega(memory.maxBytes)}`,
  ].join("\n");
}

function formatJson({ sent, seconds, consumers, latencies, memory }: LoadReport): string {
  const ms = (part: number) => latencies.quantileMs(part) ?? null;
  return JSON.stringify({
    sent,
    seconds,
    rate: sent / seconds,
    consumers,
    latency_ms: { p50: ms(0.5), p99: ms(0.99), p999: ms(0.999), max: latencies.count > 0 ? latencies.maxMs : null },
    memory_bytes: { before: memory.beforeBytes, max: memory.maxBytes },
  });
}
