import { ClockEstimator } from "../../src/clock/mod.ts";
import type { ClockEstimate } from "../../src/clock/mod.ts";
import type { Random } from "../support/random.ts";

export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY_US = 86_400_000_000;
export const ROLLOVER_US = 1024 * 7 * DAY_US;
export const EARLIEST_US = Date.UTC(2026, 0, 1) * 1000;

/** True time against the monotonic clock. */
export interface Boot {
  baseUs: number;
  /** Constant part of the drift, ppm. */
  ppm: number;
  /** Drift that changes with temperature: amplitude, and its period and phase. */
  wave?: { ppm: number; periodMs: number; phase: number };
}

export function trueUs({ baseUs, ppm, wave }: Boot, ms: number): number {
  const constant = baseUs + ms * 1000 + ms * ppm / 1000;
  if (!wave) return constant;
  const at = (time: number) => Math.cos(2 * Math.PI * time / wave.periodMs + wave.phase);
  return constant + wave.ppm / 1000 * wave.periodMs / (2 * Math.PI) * (at(0) - at(ms));
}

/** A receiver: when it sends, how late that arrives, and how wrong it is. */
export interface Receiver {
  source: string;
  pgn: number;
  fromMs: number;
  toMs: number;
  intervalMs: number;
  /** Latency of a message, milliseconds. */
  latencyMs: (random: Random) => number;
  /** Error of what it tells, microseconds; default none. */
  errorUs?: (ms: number) => number;
}

/** Distributions of latency by their name; the least is 5 ms. */
export const LATENCIES: Record<string, (random: Random) => number> = {
  even: (random) => 5 + 295 * random.next(),
  exponential: (random) => 5 - 60 * Math.log(1 - random.next()),
  narrow: (random) => 5 + 10 * random.next(),
  humped: (random) => 5 - 30 * Math.log((1 - random.next()) * (1 - random.next())),
  bimodal: (random) => 5 + (random.chance(0.2) ? 20 : 200) * random.next(),
};

/** Adds rare outliers of up to 5 s. */
export function withOutliers(latency: Receiver["latencyMs"]): Receiver["latencyMs"] {
  return (random) => latency(random) + (random.chance(0.003) ? 500 + 4500 * random.next() : 0);
}

export function receiver(init: Partial<Receiver> = {}): Receiver {
  return {
    source: "0:gps",
    pgn: 126992,
    fromMs: 3 * MINUTE,
    toMs: 63 * MINUTE,
    intervalMs: 1000,
    latencyMs: withOutliers(LATENCIES.exponential!),
    ...init,
  };
}

/**
 * Feeds what receivers send, in order of reception, and calls `at` at each of the given times.
 *
 * @returns the last estimate
 */
export function run(
  boot: Boot,
  { receivers, random, times = [], at = () => {} }: {
    receivers: readonly Receiver[];
    random: Random;
    times?: readonly number[];
    at?: (estimate: ClockEstimate | undefined, ms: number) => void;
  },
): ClockEstimate | undefined {
  const estimator = new ClockEstimator({ earliestUs: EARLIEST_US });
  const readings = receivers.flatMap((each) => {
    const phase = random.next() * each.intervalMs;
    const count = Math.floor((each.toMs - each.fromMs - phase) / each.intervalMs);
    let lastMs = 0;
    return Array.from({ length: Math.max(0, count) }, (_, i) => {
      const sentMs = each.fromMs + phase + i * each.intervalMs;
      // A message is not received before the one that was sent before it.
      const monoMs = lastMs = Math.max(lastMs, sentMs + each.latencyMs(random));
      const gnssUs = trueUs(boot, sentMs) + (each.errorUs?.(sentMs) ?? 0);
      return { monoMs, gnssUs, source: each.source, pgn: each.pgn };
    });
  }).sort((a, b) => a.monoMs - b.monoMs);
  const due = [...times].sort((a, b) => a - b);
  for (const reading of readings) {
    while (due[0] !== undefined && due[0] <= reading.monoMs) at(estimator.estimate(), due.shift()!);
    estimator.add(reading);
  }
  for (const ms of due) at(estimator.estimate(), ms);
  return estimator.estimate();
}

/** Largest error of an estimate from one monotonic time to another, milliseconds. */
export function worstMs(
  boot: Boot,
  estimate: ClockEstimate,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  const errors = Array.from({ length: 201 }, (_, i) => {
    const ms = fromMs + (toMs - fromMs) * i / 200;
    return Math.abs(estimate.offsetUs + ms * 1000 * (1 + estimate.drift) - trueUs(boot, ms)) / 1000;
  });
  return Math.max(...errors);
}
