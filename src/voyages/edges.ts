import { type Entry, isSpot, type Spot } from "./entry.ts";
import { distanceM } from "./geo.ts";
import { REST_MPS, SLOT_MS, TRACK_GAP_MS } from "./thresholds.ts";

/**
 * When a boat began to move, milliseconds since 1970.
 *
 * @param entries begin with the last slot at rest
 */
export function startOf(entries: readonly Entry[]): number {
  const [rest, first, second] = firstSpots(entries);
  if (!rest) return 0;
  if (!first) return rest.slot.startMs + SLOT_MS;
  if (first.slot.startMs - rest.slot.startMs > TRACK_GAP_MS) {
    return Math.max(rest.slot.startMs + SLOT_MS, first.slot.fix.timeMs - wayMs(rest, first));
  }
  return first.slot.startMs + SLOT_MS - partOf(first, second) * SLOT_MS;
}

/**
 * When a boat came to rest, milliseconds since 1970.
 *
 * @param entries end with the first slot at rest
 */
export function endOf(entries: readonly Entry[]): number {
  const [rest, last, second] = firstSpots(entries.toReversed());
  if (!rest) return 0;
  if (!last) return rest.slot.startMs;
  if (rest.slot.startMs - last.slot.startMs > TRACK_GAP_MS) {
    return Math.min(rest.slot.startMs, last.slot.fix.timeMs + wayMs(rest, last));
  }
  return last.slot.startMs + partOf(last, second) * SLOT_MS;
}

function firstSpots(entries: readonly Entry[]): Spot[] {
  const found: Spot[] = [];
  for (const entry of entries) {
    if (isSpot(entry)) found.push(entry);
    if (found.length === 3) break;
  }
  return found;
}

/** Time for the way between two slots at the speed of one of them. */
function wayMs(rest: Spot, moving: Spot): number {
  return 1000 * distanceM(rest.slot.fix, moving.slot.fix) / Math.max(moving.speedMps, REST_MPS.max);
}

/** Part of the slot beside the rest in which the boat moved, if it moved as fast as in the slot after it. */
function partOf({ speedMps }: Spot, next: Spot | undefined): number {
  const fullMps = Math.max(speedMps, next?.speedMps ?? 0);
  return fullMps > 0 ? speedMps / fullMps : 1;
}
