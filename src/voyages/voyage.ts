import { type Entry, isSpot, type Spot } from "./entry.ts";
import { distanceM, type Position } from "./geo.ts";
import type { EngineSlot, Fix, Slot, Speeds } from "./slots.ts";
import { DISTANCE_STEP_M, MAX_SURGE_MPS, SLOT_MS, TRACK_GAP_MS } from "./thresholds.ts";

/** Use of an engine during a voyage. */
export interface EngineUse {
  instance: number;
  /** Seconds for which it ran. */
  runningS: number;
  /** Litres, from its fuel rate, else from its trip fuel; undefined: it sends neither. */
  fuelL: number | undefined;
}

/** Wind during a voyage, m/s. */
export interface WindFigures extends Speeds {
  /** `apparent`: the true wind is not known for most of the voyage. */
  reference: "true" | "apparent";
}

/** What was measured during a voyage besides positions and speed. */
export interface VoyageUse {
  /** Engines that sent values, by instance. */
  engines: EngineUse[];
  wind: WindFigures | undefined;
}

/** A voyage. */
export interface Voyage extends VoyageUse {
  state: "under_way";
  /** Milliseconds since 1970. */
  startMs: number;
  endMs: number;
  /** False: its start, its end or a part of it is not known because frames are missing, or it has not ended. */
  isComplete: boolean;
  start: Position;
  end: Position;
  /** Over ground, metres. */
  distanceM: number;
  /** Maximum speed over ground, m/s; undefined: there was none. */
  maxMps: number | undefined;
  /** Positions, one for each {@linkcode SLOT_MS}. */
  track: Fix[];
}

/** Average speed over ground, m/s. */
export function averageMps({ distanceM, startMs, endMs }: Voyage): number {
  return endMs > startMs ? 1000 * distanceM / (endMs - startMs) : 0;
}

/** Fuel of all engines, litres; undefined: none is known. */
export function fuelOf({ engines }: Voyage): number | undefined {
  const known = engines.flatMap(({ fuelL }) => fuelL ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
}

/** A voyage in the order of time; its first and its last slot have a position. */
export interface VoyageSlots {
  entries: readonly [Spot, ...Entry[]];
  startMs: number;
  endMs: number;
  /** Whether start and end are known. */
  isWhole: boolean;
}

/** The figures of a voyage. */
export function voyageOf({ entries, startMs, endMs, isWhole }: VoyageSlots): Voyage {
  const track = entries.filter(isSpot).map(({ slot }) => slot.fix);
  const [start] = entries;
  const slots = entries.map(({ slot }) => slot);
  return {
    state: "under_way",
    startMs,
    endMs,
    isComplete: isWhole && !hasGap(entries),
    start: positionOf(start.slot.fix),
    end: positionOf(track.at(-1) ?? start.slot.fix),
    distanceM: lengthOf(track),
    maxMps: maxSpeedOf(slots),
    ...useOf(slots, { startMs, endMs }),
    track,
  };
}

/** The use of engines, and the wind, in the slots of a voyage. */
export function useOf(
  slots: readonly Slot[],
  { startMs, endMs }: { startMs: number; endMs: number },
): VoyageUse {
  // Those of which most is before the start or after the end belong to the stays.
  const own = slots.filter((slot) => {
    const middleMs = slot.startMs + SLOT_MS / 2;
    return middleMs >= startMs && middleMs <= endMs;
  });
  return { engines: enginesOf(own), wind: windOf(own) };
}

function positionOf({ latitude, longitude }: Position): Position {
  return { latitude, longitude };
}

/** True if frames are missing. */
function hasGap(entries: readonly Entry[]): boolean {
  return entries.some(({ slot }, i) => slot.startMs - (entries[i - 1]?.slot ?? slot).startMs > TRACK_GAP_MS);
}

function lengthOf([first, ...track]: readonly Fix[]): number {
  let sum = 0;
  let counted = first;
  for (const [i, fix] of track.entries()) {
    if (!counted) break;
    const distance = distanceM(counted, fix);
    if (distance < DISTANCE_STEP_M && i < track.length - 1) continue;
    sum += distance;
    counted = fix;
  }
  return sum;
}

function maxSpeedOf(slots: readonly Slot[]): number | undefined {
  const speeds = slots.flatMap(({ sog }) => sog && sog.max <= sog.avg + MAX_SURGE_MPS ? sog.max : []);
  return speeds.length === 0 ? undefined : speeds.reduce((max, each) => Math.max(max, each), 0);
}

function windOf(slots: readonly Slot[]): WindFigures | undefined {
  const real = slots.flatMap(({ trueWind }) => trueWind ?? []);
  const apparent = slots.flatMap(({ apparentWind }) => apparentWind ?? []);
  const [reference, winds] = 2 * real.length >= apparent.length
    ? ["true", real] as const
    : ["apparent", apparent] as const;
  if (winds.length === 0) return undefined;
  return {
    reference,
    avg: winds.reduce((sum, { avg }) => sum + avg, 0) / winds.length,
    max: winds.reduce((most, { max }) => Math.max(most, max), 0),
  };
}

const SLOT_HOURS = SLOT_MS / 3_600_000;

function enginesOf(slots: readonly Slot[]): EngineUse[] {
  const byInstance = Map.groupBy(slots.flatMap(({ engines }) => engines), ({ instance }) => instance);
  return [...byInstance].sort(([a], [b]) => a - b).map(([instance, list]) => ({
    instance,
    runningS: Math.round(list.reduce((sum, { running = 0 }) => sum + running, 0) * SLOT_MS / 1000),
    fuelL: fuelByRate(list) ?? fuelByTrip(list),
  }));
}

function fuelByRate(list: readonly EngineSlot[]): number | undefined {
  const rates = list.flatMap(({ fuelLph, running }) => fuelLph === undefined ? [] : running === 0 ? 0 : fuelLph);
  if (rates.length === 0) return undefined;
  return rates.reduce((sum, rate) => sum + rate * SLOT_HOURS, 0);
}

function fuelByTrip(list: readonly EngineSlot[]): number | undefined {
  const trips = list.flatMap(({ tripFuelL }) => tripFuelL ?? []);
  if (trips.length === 0) return undefined;
  // Somebody may reset the counter.
  return trips.reduce(
    (sum, trip, i) => sum + (trip >= (trips[i - 1] ?? trip) ? trip - (trips[i - 1] ?? trip) : trip),
    0,
  );
}
