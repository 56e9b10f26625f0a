import { formatTimeUs } from "../frame/mod.ts";
import type { BusLoad, BusModel, Context } from "./model.ts";

/** Bits a second of every NMEA 2000 bus. */
const BITRATE = 250_000;
/** Seconds over which the load is averaged. */
const AVERAGED = 10;
/** The load is not measured over less, milliseconds. */
const LEAST_MS = 500;

interface Meter {
  /** Load of the last seconds, percent. */
  readonly recent: number[];
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
      const percent = 100 * bits / (BITRATE * elapsedMs / 1000);
      meter.recent.push(percent);
      if (meter.recent.length > AVERAGED) meter.recent.shift();
      if (percent <= meter.peak) continue;
      meter.peak = percent;
      meter.peakUs = nowUs;
    }
  }

  /** Average load of the last ten seconds, percent. */
  averageOf({ index }: BusModel): number {
    const recent = this.#meters[index]?.recent ?? [];
    return recent.length === 0 ? 0 : recent.reduce((sum, each) => sum + each, 0) / recent.length;
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

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
