import type { FleetSample } from "@vessel/gateway/simulation";
import { count } from "../inspect/file.ts";

/** Result of a load test of a cloud. */
export interface FleetReport {
  /** Time of sending after all boats had connected, and what was made then. */
  seconds: number;
  framesPerSecond: number;
  /** Processors that this process used in that time. */
  cpu: number;
  /** Longest age of a frame of any boat that the cloud had not received, and not stored, milliseconds. */
  receivedWaitMs: number;
  storedWaitMs: number;
  /** Maximum memory of this process, bytes. */
  memoryBytes: number;
  /** State at the end. */
  sample: FleetSample;
  /** Number of errors by text. */
  errors: readonly (readonly [text: string, times: number])[];
  /** Where the cloud reports something else than was sent; undefined: not compared. */
  problems: readonly string[] | undefined;
}

/** Figures of one line. */
export interface LineFigures extends Pick<FleetReport, "errors"> {
  /** Since the start. */
  seconds: number;
  sentPerSecond: number;
  storedPerSecond: number;
}

/** Errors in a line; the summary has all. */
const MAX_TOLD_ERRORS = 3;

/** True if the cloud has stored every frame of every boat. */
export function isComplete({ sample: { made, stored, lost, started, boats }, problems = [] }: FleetReport): boolean {
  return started === boats && stored === made && lost === 0 && problems.length === 0;
}

/** A line while the test runs. */
export function formatFleetLine(
  { connected, boats, receivedWaitMs, storedWaitMs, reconnects, blocks }: FleetSample,
  { seconds, sentPerSecond, storedPerSecond, errors }: LineFigures,
): string {
  const frequent = errors.toSorted(([, a], [, b]) => b - a).slice(0, MAX_TOLD_ERRORS);
  const each = frequent.map(([text, times]) => `; ${times} × ${text}`).join("");
  return `${Math.round(seconds)} s: ${connected} of ${boats} boats, ${Math.round(sentPerSecond)} frames/s sent, ` +
    `${Math.round(storedPerSecond)}/s acknowledged, longest wait ${inSeconds(receivedWaitMs)} until received, ` +
    `${inSeconds(storedWaitMs)} until acknowledged; ${blocks} blocks, ${count(reconnects, "reconnect")}${each}`;
}

/** The result for people. */
export function formatFleet(report: FleetReport): string {
  const { seconds, framesPerSecond, cpu, receivedWaitMs, storedWaitMs, memoryBytes, sample, errors, problems } = report;
  const { boats, started, made, stored, lost, sentLive, blocks, blockBytes, reconnects } = sample;
  return [
    `boats: ${boats}${started < boats ? `, ${boats - started} never connected` : ""}`,
    `frames: ${made} in all, ${Math.round(framesPerSecond)}/s for ${seconds.toFixed(1)} s`,
    `sent: ${count(sentLive, "frame")} live, ${count(blocks, "block")} of ${megabytes(blockBytes)}`,
    `acknowledged: ${stored}, ${made - stored} missing, ${lost} lost`,
    `longest wait: ${inSeconds(receivedWaitMs)} until received, ${inSeconds(storedWaitMs)} until acknowledged`,
    `reconnects: ${reconnects}`,
    `this process: ${cpu.toFixed(2)} processors, at most ${megabytes(memoryBytes)}`,
    ...errors.map(([text, times]) => `error: ${times} × ${text}`),
    ...problems === undefined ? [] : [problems.length === 0 ? "the cloud reports the same" : "the cloud differs:"],
    ...(problems ?? []).map((problem) => `  ${problem}`),
  ].join("\n");
}

/** The result for programs. */
export function formatFleetJson(report: FleetReport): string {
  const { seconds, framesPerSecond, cpu, receivedWaitMs, storedWaitMs, memoryBytes, sample, errors, problems } = report;
  return JSON.stringify({
    complete: isComplete(report),
    boats: sample.boats,
    never_connected: sample.boats - sample.started,
    frames: sample.made,
    acknowledged: sample.stored,
    missing: sample.made - sample.stored,
    lost: sample.lost,
    seconds,
    rate: framesPerSecond,
    sent_live: sample.sentLive,
    blocks: sample.blocks,
    block_bytes: sample.blockBytes,
    longest_wait_s: { received: receivedWaitMs / 1000, acknowledged: storedWaitMs / 1000 },
    reconnects: sample.reconnects,
    cpu,
    memory_bytes: memoryBytes,
    errors: Object.fromEntries(errors),
    ...(problems && { differences: problems }),
  });
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
