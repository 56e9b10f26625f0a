/**
 * `vbg loadtest`: measures a boat server under load on this machine.
 *
 * @module
 */
import type { RecordingOptions } from "@vessel/gateway";
import { systemClock } from "@vessel/gateway/base";
import { JOURNAL_DIRECTORY_MODE } from "@vessel/gateway/journal";
import { outputOptions, wantsJson } from "../../client/client_options.ts";
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
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { count } from "../inspect/file.ts";
import { type LoadReport, runLoad } from "./run.ts";

const load = flagGroup("Load");
const MAX_SOURCES = 252;
const MAX_RATE = 1_000_000;
const MAX_CONSUMERS = 900;

const options = {
  rate: load.integer({
    name: "rate",
    default: 1000,
    min: 1,
    max: MAX_RATE,
    help: "Frames per second, of all devices together.",
  }),
  durationMs: load.duration({
    name: "duration",
    default: 30_000,
    minMs: 1,
    help: "Time of sending. Ctrl-C ends it sooner.",
  }),
  sources: load.integer({
    name: "sources",
    default: 10,
    min: 1,
    max: MAX_SOURCES,
    help: "Number of sending devices.",
  }),
  consumers: load.integer({
    name: "consumers",
    default: 1,
    max: MAX_CONSUMERS,
    help: "Number of clients that read all frames as a live stream.",
  }),
  ringFrames: load.powerOfTwo({
    name: "ring-size",
    default: 65_536,
    min: 16,
    max: 2 ** 24,
    help: "Frames kept in memory. A power of two.",
  }),
  journalDir: optional(load.text({
    name: "journal-dir",
    placeholder: "DIR",
    help: "Record the frames to this directory, which must be empty or missing. Without it nothing is recorded.",
  })),
  ...outputOptions,
  ...programOptions,
};

type LoadtestSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg loadtest`. */
export const program: Program<LoadtestSettings> = {
  name: "vbg loadtest",
  summary:
    "starts a boat server on a bus in memory, with sending devices and reading clients in the same process, and " +
    "reports rates, drops, latency and memory",
  options,
};

/** Runs `vbg loadtest`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, { context, run: (settings) => loadtest(settings, context) });
}

async function loadtest(settings: LoadtestSettings, context: ProgramContext): Promise<void> {
  const output = outputOf(context);
  const journal = await recordingOf(settings.journalDir);
  const total = Math.floor(settings.rate * settings.durationMs / 1000);
  const progress = new Progress({ output: errorsOf(context), total, unit: "frames", clock: systemClock });
  try {
    const onSent = (frames: number) => progress.add(frames);
    const signal = stopSignalOf(context, { hangUp: journal !== undefined });
    const report = await runLoad({ ...settings, journal, signal, clock: systemClock, onSent });
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
