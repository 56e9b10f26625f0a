import { formatTimeUs } from "../frame/mod.ts";
import type { Period } from "./detector.ts";
import type { Position } from "./geo.ts";
import type { Track } from "./gpx.ts";
import { averageMps, fuelOf, type Voyage } from "./voyage.ts";

/** A voyage as the API gives it. */
export interface VoyageRecord {
  /** RFC 3339. */
  start: string;
  /** RFC 3339. */
  end: string;
  /** False: it has not ended, or its start, its end or a part of it is not known because frames are missing. */
  is_complete: boolean;
  /** Seconds. */
  duration_s: number;
  /** Where it began. */
  start_position: Position;
  /** Where it ended. */
  end_position: Position;
  /** Over ground, metres. */
  distance_m: number;
  /** Over ground, m/s. */
  avg_speed: number;
  /** Over ground, m/s; null if it is not known. */
  max_speed: number | null;
  /** Engines that sent values: seconds for which each ran, and litres of fuel. */
  engines: { instance: number; running_s: number; fuel_l: number | null }[];
  /** Litres of all engines; null if it is not known. */
  fuel_l: number | null;
  /** Speed of the wind, m/s; null if it is not known. */
  wind: { reference: "true" | "apparent"; avg: number; max: number } | null;
}

/** A time between voyages as the API gives it. */
export interface StayRecord {
  /** `unknown`: too few positions, or none, and the boat was elsewhere after it. */
  state: "at_anchor" | "in_port" | "unknown";
  /** RFC 3339. */
  start: string;
  /** RFC 3339. */
  end: string;
  /** Average; null if it is not known. */
  position: Position | null;
}

/** Voyages and the times between them, as the API gives them. */
export interface VoyageReport {
  /** In the order of time. */
  voyages: VoyageRecord[];
  /** What the boat did between them. */
  stays: StayRecord[];
}

/** Formats periods. */
export function reportOf(periods: readonly Period[]): VoyageReport {
  const report: VoyageReport = { voyages: [], stays: [] };
  for (const period of periods) {
    const times = { start: timeText(period.startMs), end: timeText(period.endMs) };
    if (period.state === "under_way") report.voyages.push(recordOf(period));
    else {
      const position = period.state === "unknown" ? null : rounded(period.position);
      report.stays.push({ state: period.state, ...times, position });
    }
  }
  return report;
}

function recordOf(voyage: Voyage): VoyageRecord {
  const { startMs, endMs, isComplete, maxMps, engines, wind } = voyage;
  const fuel = fuelOf(voyage);
  return {
    start: timeText(startMs),
    end: timeText(endMs),
    is_complete: isComplete,
    duration_s: Math.round((endMs - startMs) / 1000),
    start_position: rounded(voyage.start),
    end_position: rounded(voyage.end),
    distance_m: Math.round(voyage.distanceM),
    avg_speed: round(averageMps(voyage), 2),
    max_speed: maxMps === undefined ? null : round(maxMps, 2),
    engines: engines.map(({ instance, runningS, fuelL }) => ({
      instance,
      running_s: runningS,
      fuel_l: fuelL === undefined ? null : round(fuelL, 1),
    })),
    fuel_l: fuel === undefined ? null : round(fuel, 1),
    wind: wind ? { reference: wind.reference, avg: round(wind.avg, 2), max: round(wind.max, 2) } : null,
  };
}

/** The track of a voyage. */
export function trackOf({ startMs, track }: Voyage): Track {
  return { name: `Voyage of ${timeText(startMs)}`, points: track };
}

/** Name of a file with the track of the voyage that begins at an RFC 3339 time: without colons, which Windows refuses. */
export function trackFileName(start: string): string {
  return `${start.replace(/\.\d+/, "").replaceAll(":", "")}.gpx`;
}

function timeText(ms: number): string {
  return formatTimeUs(Math.round(ms / 1000) * 1_000_000);
}

function rounded({ latitude, longitude }: Position): Position {
  return { latitude: round(latitude, 7), longitude: round(longitude, 7) };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
