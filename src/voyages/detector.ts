import { endOf, startOf } from "./edges.ts";
import { type Entry, entryOf, isCircling, isSpot, placeOf, restFrom, restsAt, type Spot } from "./entry.ts";
import { distanceM } from "./geo.ts";
import { PositionFilter } from "./positions.ts";
import type { Slot } from "./slots.ts";
import { Stay } from "./stay.ts";
import type { StayKind } from "./stay_kind.ts";
import {
  GAP_MPS,
  LONG_GAP_MS,
  MIN_VOYAGE_M,
  MIN_VOYAGE_MPS,
  MIN_VOYAGE_MS,
  SLOT_MS,
  STAY_EXTENT_M,
  STAY_MS,
} from "./thresholds.ts";
import { type Voyage, voyageOf } from "./voyage.ts";

/** A time in which the boat stayed where it was. */
export interface StayPeriod extends StayKind {
  /** Milliseconds since 1970. */
  startMs: number;
  endMs: number;
}

/** A time without positions, after which the boat was elsewhere, or one that is too short to tell. */
export interface UnknownPeriod {
  state: "unknown";
  /** Milliseconds since 1970. */
  startMs: number;
  endMs: number;
}

/** What a boat did for some time. */
export type Period = Voyage | StayPeriod | UnknownPeriod;

/** A boat under way, or one that has not yet stayed for long enough. */
interface Moving {
  kind: "moving";
  /** The stay that it left, which goes on if this is no voyage; undefined: where it began is not known. */
  from: Stay | undefined;
  /** Begin with the last slot at rest. */
  entries: [Spot, ...Entry[]];
  startMs: number;
}

type State = { kind: "none" } | { kind: "staying"; stay: Stay } | Moving;

/**
 * Finds voyages. Gets the slots of a boat in the order of time, and returns each period once it is over: a voyage when the
 * boat has stayed for {@linkcode STAY_MS}, a stay when the voyage after it is one. Slots that are not later than the one
 * before are ignored. Pure.
 *
 * @example
 * ```ts ignore
 * const detector = new VoyageDetector();
 * const periods = [...slots.flatMap((slot) => detector.push(slot)), ...detector.end()];
 * ```
 */
export class VoyageDetector {
  readonly #filter = new PositionFilter();
  #state: State = { kind: "none" };
  #newestMs = -Infinity;
  #lastSpot: Spot | undefined;
  #periods: Period[] = [];

  /** Since when the boat moves, or has not stayed for long enough, milliseconds since 1970; undefined: it stays. */
  get movingSinceMs(): number | undefined {
    return this.#state.kind === "moving" ? this.#state.startMs : undefined;
  }

  /** Adds a slot. Returns the periods that are over. */
  push(slot: Slot): Period[] {
    if (slot.startMs <= this.#newestMs) return [];
    this.#newestMs = slot.startMs;
    for (const each of this.#filter.push(slot)) this.#add(each);
    return this.#periods.splice(0);
  }

  /** Ends. Returns the remaining periods: a voyage that has not ended is not complete. */
  end(): Period[] {
    for (const each of this.#filter.end()) this.#add(each);
    const state = this.#state;
    if (state.kind === "staying") this.#endStay(state.stay);
    if (state.kind === "moving") this.#endMoving(state);
    this.#state = { kind: "none" };
    return this.#periods.splice(0);
  }

  #add(slot: Slot): void {
    const entry = entryOf(slot, this.#lastSpot);
    const before = this.#lastSpot;
    if (isSpot(entry)) this.#lastSpot = entry;
    const state = this.#state;
    if (state.kind === "staying") this.#stay(state.stay, entry);
    else if (state.kind === "moving") this.#move(state, { entry, before });
    else if (isSpot(entry)) this.#begin(entry);
  }

  /** Begins where nothing is known of the time before. */
  #begin(entry: Spot): void {
    this.#state = { kind: "moving", from: undefined, entries: [entry], startMs: entry.slot.startMs };
  }

  #stay(stay: Stay, entry: Entry): void {
    if (stay.join(entry) || !isSpot(entry)) return;
    const last = stay.last ?? entry;
    if (entry.slot.startMs - last.slot.startMs > LONG_GAP_MS) {
      this.#endStay(stay);
      this.#passUnknown(last, entry);
      return;
    }
    const [first, ...rest] = stay.leave(entry);
    const entries: [Spot, ...Entry[]] = isSpot(first) ? [first, ...rest] : [entry];
    this.#state = { kind: "moving", from: stay, entries, startMs: startOf(entries) };
  }

  #move(moving: Moving, { entry, before }: { entry: Entry; before: Spot | undefined }): void {
    if (isSpot(entry) && before && isLost(before, entry)) {
      this.#endMoving(moving);
      this.#passUnknown(before, entry);
      return;
    }
    const { entries, from, startMs } = moving;
    entries.push(entry);
    const rest = restFrom(entries);
    if (rest === undefined) return;
    const last = firstAtRest(entries, rest);
    const [first, ...way] = entries.slice(0, last + 1);
    const [lying, ...lain] = entries.slice(last);
    if (!isSpot(first) || !isSpot(lying)) return;
    const endMs = endOf([first, ...way]);
    const voyage = voyageOf({ entries: [first, ...way], startMs, endMs, isWhole: from !== undefined });
    if (!isVoyage(voyage, way)) {
      this.#state = { kind: "staying", stay: stayOf(moving, rest) };
      return;
    }
    if (from) this.#endStay(from, startMs);
    this.#periods.push(voyage);
    this.#state = { kind: "staying", stay: new Stay([lying, ...lain], { startMs: endMs }) };
  }

  /** Ends a movement whose end is not known. */
  #endMoving(moving: Moving): void {
    const { entries, from, startMs } = moving;
    const [first] = entries;
    const way = entries.slice(1, entries.findLastIndex(isSpot) + 1);
    const endMs = (way.at(-1) ?? first).slot.startMs + SLOT_MS;
    const voyage = voyageOf({ entries: [first, ...way], startMs, endMs, isWhole: false });
    if (isVoyage(voyage, way)) {
      if (from) this.#endStay(from, startMs);
      this.#periods.push(voyage);
    } else if (from) this.#endStay(stayOf(moving));
    else this.#periods.push({ state: "unknown", startMs, endMs });
  }

  #endStay(stay: Stay, endMs: number = stay.endMs): void {
    this.#periods.push({ ...stay.kind(), startMs: stay.startMs, endMs });
  }

  #passUnknown(before: Spot, entry: Spot): void {
    this.#periods.push({ state: "unknown", startMs: before.slot.startMs + SLOT_MS, endMs: entry.slot.startMs });
    this.#begin(entry);
  }
}

/** Index of the first entry from `rest` on at which the boat lies as it does later. */
function firstAtRest(entries: readonly Entry[], rest: number): number {
  const spots = entries.slice(rest).filter(isSpot);
  const place = placeOf(spots.slice(Math.floor(spots.length / 2)));
  const found = place ? entries.findIndex((entry, i) => i >= rest && restsAt(place, entry)) : -1;
  return Math.max(rest, found);
}

/**
 * The stay that a movement is part of.
 *
 * @param rest index of the entry from which on the boat stays; default: it has not moved far
 */
function stayOf({ from, entries: [first, ...others], startMs }: Moving, rest?: number): Stay {
  if (!from) return new Stay([first, ...others], { startMs, rest });
  from.resume(others, { rest: rest === undefined ? undefined : rest - 1 });
  return from;
}

/** True if it is not known where the boat was between two positions. */
function isLost({ slot: before }: Spot, { slot: after }: Spot): boolean {
  const ms = after.fix.timeMs - before.fix.timeMs;
  if (ms <= LONG_GAP_MS) return false;
  const distance = distanceM(before.fix, after.fix);
  return distance > STAY_EXTENT_M && distance < GAP_MPS * ms / 1000;
}

function isVoyage({ track, startMs, endMs, start }: Voyage, way: readonly Entry[]): boolean {
  const awayM = track.reduce((most, fix) => Math.max(most, distanceM(start, fix)), 0);
  if (awayM > 2 * STAY_EXTENT_M) return true;
  if (endMs - startMs >= STAY_MS && isCircling(way)) return true;
  return awayM >= MIN_VOYAGE_M && endMs - startMs >= MIN_VOYAGE_MS &&
    way.some(({ speedMps }) => speedMps > MIN_VOYAGE_MPS);
}
