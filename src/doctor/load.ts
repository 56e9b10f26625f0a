import { formatTimeUs } from "../frame/mod.ts";
import type { BusLoad, BusModel, Context } from "./model.ts";

/** Bits a second of every NMEA 2000 bus. */
const BITRATE = 250_000;
/** Rounds over which the load is averaged: about ten seconds. */
const AVERAGED = 10;
/** After a longer pause between rounds the process was held up, and what came meanwhile counts in the next round, milliseconds. */
const HELD_UP_MS = 2000;
/** The load is not measured over less, milliseconds. */
const LEAST_MS = 500;

interface Round {
  bits: number;
  ms: number;
  /** False: its messages are yet to be counted. */
  isWhole: boolean;
}

interface Meter {
  readonly recent: Round[];
  peak: number;
  peakUs: number | undefined;
}

/** Measures the load of each bus, second by second. */
export class LoadMeter {
  readonly #context: Context;
  readonly #meters: readonly Meter[];
  #lastMs: number | undefined;

  constructor(context: Context) {
    this.#context = context;
    this.#meters = context.buses.map(() => ({ recent: [], peak: 0, peakUs: undefined }));
  }

  /** Takes the bits since the last round. */
  round(): void {
    const { nowMs, nowUs, buses } = this.#context;
    const elapsedMs = nowMs - (this.#lastMs ??= nowMs);
    if (elapsedMs < LEAST_MS) return;
    this.#lastMs = nowMs;
    for (const bus of buses) {
      const bits = bus.bits;
      bus.bits = 0;
      const meter = this.#meters[bus.index];
      if (!meter) continue;
      const before = meter.recent.at(-1)?.isWhole === false ? meter.recent.pop() : undefined;
      const round = {
        bits: bits + (before?.bits ?? 0),
        ms: elapsedMs + (before?.ms ?? 0),
        isWhole: elapsedMs <= HELD_UP_MS,
      };
      meter.recent.push(round);
      if (meter.recent.length > AVERAGED) meter.recent.shift();
      const percent = percentOf([round]);
      if (!round.isWhole || percent <= meter.peak) continue;
      meter.peak = percent;
      meter.peakUs = nowUs;
    }
  }

  /** Average load of the last ten seconds, percent. */
  averageOf({ index }: BusModel): number {
    return percentOf(this.#meters[index]?.recent ?? []);
  }

  /** Load of each bus. */
  list(): BusLoad[] {
    return this.#context.buses.map((bus) => {
      const { peak = 0, peakUs } = this.#meters[bus.index] ?? {};
      return {
        bus: bus.name,
        load_percent: tenths(this.averageOf(bus)),
        peak_percent: tenths(peak),
        ...(peakUs !== undefined && { peak_at: formatTimeUs(peakUs) }),
      };
    });
  }
}

function percentOf(rounds: readonly Round[]): number {
  const [bits, ms] = [rounds.reduce((sum, each) => sum + each.bits, 0), rounds.reduce((sum, each) => sum + each.ms, 0)];
  return ms === 0 ? 0 : 100 * bits / (BITRATE * ms / 1000);
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
