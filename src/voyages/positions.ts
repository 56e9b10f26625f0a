import { distanceM } from "./geo.ts";
import type { Fix, Slot } from "./slots.ts";
import { MAX_JUMP_M, MAX_SPEED_MPS, MAX_UNREACHABLE_SLOTS, SLOT_MS } from "./thresholds.ts";

/** How much faster than its speed over ground a boat may have been between two averages of it. */
const SPEED_RESERVE = 1.5;
/** Slots that are held at most while there are no positions. */
const MAX_HELD_SLOTS = 10 * MAX_UNREACHABLE_SLOTS;

/** A slot with a position. */
interface Placed {
  fix: Fix;
  maxMps: number;
}

/** Removes positions that the boat cannot have reached. Holds back at most {@linkcode MAX_UNREACHABLE_SLOTS} positions. */
export class PositionFilter {
  /** The last slot whose position is believed. */
  #last: Placed | undefined;
  /** The slots since then, the first with a position that could not be reached. */
  #held: Slot[] = [];

  /** Adds a slot. Returns the slots that are decided now, in order. */
  push(slot: Slot): Slot[] {
    const placed = placedOf(slot);
    if (this.#held.length === 0) {
      if (!placed || !this.#last || isReachable(this.#last, placed)) {
        this.#last = placed ?? this.#last;
        return [slot];
      }
      this.#held = [slot];
      return [];
    }
    this.#held.push(slot);
    if (!placed) return this.#held.length < MAX_HELD_SLOTS ? [] : this.end();
    if (this.#last && isReachable(this.#last, placed)) {
      const [wrong, right] = [this.#held.slice(0, -1), slot];
      this.#held = [];
      this.#last = placed;
      return [...wrong.map(withoutFix), right];
    }
    if (this.#held.filter(({ fix }) => fix).length < MAX_UNREACHABLE_SLOTS) return [];
    this.#last = placed;
    return this.#held.splice(0);
  }

  /** The slots that are still held. */
  end(): Slot[] {
    return this.#held.splice(0).map(withoutFix);
  }
}

function placedOf({ fix, sog }: Slot): Placed | undefined {
  return fix && { fix, maxMps: sog ? Math.min(MAX_SPEED_MPS, SPEED_RESERVE * sog.max) : MAX_SPEED_MPS };
}

function isReachable(from: Placed, to: Placed): boolean {
  const ms = to.fix.timeMs - from.fix.timeMs;
  // After a longer pause the speeds on both sides of it say nothing about the way.
  const maxMps = ms > 2 * SLOT_MS ? MAX_SPEED_MPS : Math.max(from.maxMps, to.maxMps);
  return distanceM(from.fix, to.fix) <= MAX_JUMP_M + maxMps * ms / 1000;
}

function withoutFix(slot: Slot): Slot {
  return { ...slot, fix: undefined };
}
