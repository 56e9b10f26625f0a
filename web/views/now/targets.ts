import type { DecodedFields } from "@vessel/gateway/client";
import { plainText } from "../plain_text.ts";
import { isPosition, lengthOf, moved, type Position, vectorBetween, vectorOf } from "./geometry.ts";

/** Kind of an AIS station. */
export type Station = "class A" | "class B" | "aid to navigation" | "SAR aircraft";

/** An AIS station. */
export interface Target {
  readonly mmsi: number;
  station: Station | undefined;
  /** Text from the station, without characters that cannot be seen. */
  name: string | undefined;
  position: Position | undefined;
  /** Time of the position, milliseconds since 1970. */
  timeMs: number;
  /** Metres each second. */
  sog: number | undefined;
  /** From true north, radians. */
  cog: number | undefined;
  heading: number | undefined;
  /** Interval at which it reports its position, milliseconds. */
  intervalMs: number;
}

/** A target as it is shown. */
export interface ShownTarget {
  readonly target: Target;
  /** Where it should be now by its course and speed; of a stale one, where it was last reported. */
  readonly position: Position;
  readonly rangeM: number;
  readonly ageMs: number;
  readonly isStale: boolean;
}

/** PGNs with positions of AIS stations. */
export const POSITION_PGNS: readonly number[] = [129038, 129039, 129040, 129041, 129798];
/** PGNs with names of AIS stations. */
export const NAME_PGNS: readonly number[] = [129041, 129794, 129809, 129040];
/** All PGNs that {@linkcode TargetTable.observe} reads. */
export const AIS_PGNS: readonly number[] = [...new Set([...POSITION_PGNS, ...NAME_PGNS, 129810])];

const STATIONS: ReadonlyMap<number, Station> = new Map([
  [129038, "class A"],
  [129039, "class B"],
  [129040, "class B"],
  [129041, "aid to navigation"],
  [129798, "SAR aircraft"],
  [129794, "class A"],
  [129809, "class B"],
  [129810, "class B"],
]);

/** Reporting intervals of ITU-R M.1371; of fast ships and of turning ones they are shorter. */
const INTERVAL_MS = { moving: 10_000, movingB: 30_000, slow: 180_000 } as const;
/** Class A below 3 knots at anchor, class B below 2 knots report seldom. */
const SLOW_MPS = { "class A": 1.54, "class B": 1.03 } as const;
const STALE_INTERVALS = 3;
/** A target is removed after six intervals, and not before ten minutes. */
const REMOVE_INTERVALS = 6;
const REMOVE_AFTER_MS = 600_000;
/** Maximum number of stations that are kept. */
const MAX_KEPT = 2000;
/** AIS fills names with it. */
const FILL = /@.*$/s;
const MAX_NAME_CHARACTERS = 34;

/** AIS stations by MMSI, from decoded messages. */
export class TargetTable {
  readonly #targets = new Map<number, Target>();

  /** Reads a message; other PGNs, and the own station's messages, change nothing. */
  observe(pgn: number, decoded: DecodedFields, timeMs: number): void {
    const { user_id: mmsi } = decoded;
    const station = STATIONS.get(pgn);
    if (typeof mmsi !== "number" || !station || isOwn(decoded)) return;
    const target = this.#targetOf(mmsi);
    // Static data is the weaker hint: both classes use 129809.
    if (POSITION_PGNS.includes(pgn) || target.station === undefined) target.station = station;
    const name = nameOf(decoded["aton_name"] ?? decoded["name"]);
    if (name !== undefined) target.name = name;
    if (POSITION_PGNS.includes(pgn)) locate(target, decoded, timeMs);
  }

  /** The targets nearest to a position, and how many more there are. Forgets old ones. */
  nearest(own: Position, { nowMs, max }: { nowMs: number; max: number }): { shown: ShownTarget[]; notShown: number } {
    for (const [mmsi, target] of this.#targets) if (isGone(target, nowMs)) this.#targets.delete(mmsi);
    const all = [...this.#targets.values()].flatMap((target) => shownOf(target, { own, nowMs }) ?? [])
      .sort((a, b) => a.rangeM - b.rangeM || a.target.mmsi - b.target.mmsi);
    return { shown: all.slice(0, max), notShown: Math.max(0, all.length - max) };
  }

  #targetOf(mmsi: number): Target {
    const known = this.#targets.get(mmsi);
    if (known) return known;
    if (this.#targets.size >= MAX_KEPT) {
      const oldest = [...this.#targets.values()].reduce((a, b) => b.timeMs < a.timeMs ? b : a);
      this.#targets.delete(oldest.mmsi);
    }
    const unknown = { station: undefined, name: undefined, position: undefined, sog: undefined };
    const target = { ...unknown, mmsi, cog: undefined, heading: undefined, timeMs: 0, intervalMs: INTERVAL_MS.slow };
    this.#targets.set(mmsi, target);
    return target;
  }
}

/** Name for people: the station's own, else its MMSI. */
export function targetTitle({ name, mmsi }: Pick<Target, "name" | "mmsi">): string {
  return name ?? `MMSI ${String(mmsi).padStart(9, "0")}`;
}

function locate(target: Target, decoded: DecodedFields, timeMs: number): void {
  const { latitude, longitude } = decoded;
  if (typeof latitude !== "number" || typeof longitude !== "number") return;
  // Recorded reports may come after live ones. Much older ones mean that the boat's clock was set back.
  if (timeMs < target.timeMs && target.timeMs - timeMs < REMOVE_AFTER_MS) return;
  if (!isPosition({ latitude, longitude })) return;
  target.position = { latitude, longitude };
  target.timeMs = timeMs;
  target.sog = numberOf(decoded["sog"]);
  target.cog = numberOf(decoded["cog"]);
  target.heading = numberOf(decoded["heading"] ?? decoded["true_heading"]);
  target.intervalMs = intervalOf(target, decoded["nav_status"]);
}

function intervalOf({ station, sog = 0 }: Target, status: unknown): number {
  switch (station) {
    case "class A":
      return /anchor|moored/i.test(String(status)) && sog < SLOW_MPS["class A"] ? INTERVAL_MS.slow : INTERVAL_MS.moving;
    case "class B":
      return sog < SLOW_MPS["class B"] ? INTERVAL_MS.slow : INTERVAL_MS.movingB;
    case "SAR aircraft":
      return INTERVAL_MS.moving;
    default:
      return INTERVAL_MS.slow;
  }
}

function shownOf(target: Target, { own, nowMs }: { own: Position; nowMs: number }): ShownTarget | undefined {
  const { position, timeMs, intervalMs, sog, cog } = target;
  if (!position) return undefined;
  const ageMs = Math.max(0, nowMs - timeMs);
  const isStale = ageMs > STALE_INTERVALS * intervalMs;
  const isMoving = !isStale && sog !== undefined && cog !== undefined;
  const now = isMoving ? moved(position, vectorOf(cog, sog * ageMs / 1000)) : position;
  return { target, position: now, rangeM: lengthOf(vectorBetween(own, now)), ageMs, isStale };
}

/** Names without a position are kept: the position may come. */
function isGone({ position, timeMs, intervalMs }: Target, nowMs: number): boolean {
  return position !== undefined && nowMs - timeMs > Math.max(REMOVE_AFTER_MS, REMOVE_INTERVALS * intervalMs);
}

function isOwn(decoded: DecodedFields): boolean {
  return /^own.information/i.test(String(decoded["ais_transceiver_info"] ?? decoded["ais_transceiver_information"]));
}

function nameOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return plainText(value.replace(FILL, "").trim()).slice(0, MAX_NAME_CHARACTERS) || undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
