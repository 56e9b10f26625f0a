import { Directions, distanceM, Extent, moved, offsetM, type Position } from "./geo.ts";
import type { Fix, Slot } from "./slots.ts";
import {
  CIRCLING_MPS,
  MAX_ERROR_M,
  PLACE_MARGIN_M,
  PORT_HEADING_RAD,
  REST_MARGIN_MPS,
  REST_MPS,
  SLOT_MS,
  STAY_EXTENT_M,
  STAY_MS,
} from "./thresholds.ts";

/** A slot and the boat's speed in it. */
export interface Entry {
  slot: Slot;
  /** m/s; 0 without a position. */
  speedMps: number;
}

/** A slot with a position. */
export interface Spot extends Entry {
  slot: Slot & { fix: Fix };
}

/** True if a slot has a position. */
export function isSpot(entry: Entry | undefined): entry is Spot {
  return entry?.slot.fix !== undefined;
}

/** The slot with its speed: that over ground, else the way from the position before. */
export function entryOf(slot: Slot, before: Spot | undefined): Entry {
  const { fix, sog } = slot;
  if (!fix) return { slot, speedMps: 0 };
  if (sog) return { slot, speedMps: sog.avg };
  const ms = before ? fix.timeMs - before.slot.fix.timeMs : 0;
  return { slot, speedMps: before && ms > 0 ? 1000 * distanceM(before.slot.fix, fix) / ms : 0 };
}

/** A boat that drives in circles for longer than twice a stay is looked at again for each slot. */
const MAX_LOOKED_AT = 2 * STAY_MS / SLOT_MS;

/**
 * Index of the first of the newest entries that are a stay: positions close together for long enough, and no engine that
 * drives the boat in circles.
 */
export function restFrom(entries: readonly Entry[]): number | undefined {
  const newest = entries.at(-1);
  if (!isSpot(newest)) return undefined;
  const { fix } = newest.slot;
  const extent = new Extent();
  let first: number | undefined;
  let spanMs = 0;
  let count = 0;
  for (let i = entries.length - 1; i >= 0 && count < MAX_LOOKED_AT; i--) {
    const entry = entries[i];
    if (!isSpot(entry)) continue;
    count++;
    const { x, y } = offsetM(fix, entry.slot.fix);
    if (extent.widthWith(x, y) > STAY_EXTENT_M) break;
    extent.add(x, y);
    first = i;
    spanMs = fix.timeMs - entry.slot.fix.timeMs;
  }
  if (first === undefined || spanMs < STAY_MS) return undefined;
  return isCircling(entries.slice(first)) ? undefined : first;
}

/** True if an engine drives a boat all the time. */
export function isCircling(entries: readonly Entry[]): boolean {
  const spots = entries.filter(isSpot);
  const spanMs = (spots.at(-1)?.slot.startMs ?? 0) - (spots[0]?.slot.startMs ?? 0);
  if (2 * spots.length * SLOT_MS < spanMs) return false;
  const speed = spots.reduce((sum, { speedMps }) => sum + speedMps, 0);
  if (speed <= CIRCLING_MPS * spots.length) return false;
  const running = spots.filter(({ slot: { engines } }) => engines.some((engine) => (engine.running ?? 0) > 0));
  return 2 * running.length > spots.length;
}

/** Where and how a boat lay. */
export interface Place {
  centre: Position;
  /** How far from the centre it may lie, metres. */
  radiusM: number;
  /** Below this speed it rests, m/s. */
  restMps: number;
}

/** The part of the speeds at rest that is below {@linkcode Place.restMps} without its margin. */
const USUAL_PART = 0.9;

/** The place of a boat that stays. Undefined without positions. */
export function placeOf(entries: readonly Entry[]): Place | undefined {
  const spots = entries.filter(isSpot);
  const [first] = spots;
  if (!first) return undefined;
  const offsets = spots.map(({ slot }) => offsetM(first.slot.fix, slot.fix));
  const x = offsets.reduce((sum, each) => sum + each.x, 0) / spots.length;
  const y = offsets.reduce((sum, each) => sum + each.y, 0) / spots.length;
  const radiusM = Math.max(...offsets.map((each) => Math.hypot(each.x - x, each.y - y)));
  const yaw = new Directions();
  for (const { slot } of spots) if (slot.headingRad !== undefined) yaw.add(slot.headingRad);
  const swings = yaw.count > 0 ? yaw.deviation > PORT_HEADING_RAD : radiusM > MAX_ERROR_M;
  const speeds = spots.map(({ speedMps }) => speedMps).sort((a, b) => a - b);
  const usual = speeds[Math.floor(USUAL_PART * (speeds.length - 1))] ?? 0;
  return {
    centre: moved(first.slot.fix, { x, y }),
    // One that swings was seen on a part of its circle only.
    radiusM: swings ? Math.max(radiusM, STAY_EXTENT_M / 2) : radiusM + PLACE_MARGIN_M,
    restMps: Math.min(REST_MPS.max, Math.max(swings ? REST_MPS.atAnchor : REST_MPS.inPort, usual + REST_MARGIN_MPS)),
  };
}

/** True if the boat rests at a place. */
export function restsAt({ centre, radiusM, restMps }: Place, entry: Entry | undefined): boolean {
  return isSpot(entry) && entry.speedMps <= restMps && distanceM(centre, entry.slot.fix) <= radiusM;
}
