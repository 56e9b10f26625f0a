import { STALE_INTERVALS, UsualInterval } from "../quantities/mod.ts";
import { describePgn } from "../pgn/mod.ts";
import { SELF } from "./mapper.ts";
import { type Metadata, metadataOf } from "./metadata.ts";
import type { Json, SignalKDelta } from "./types.ts";

/** Vessels, aids to navigation and stations of AIS that are kept; beyond, the one not heard for the longest time is removed. */
export const MAX_CONTEXTS = 1000;
/** Values kept, one for each context, path and source; further ones are refused and counted. */
export const MAX_VALUES = 65_536;
/** What AIS reports is removed when nothing was heard of it for this time, milliseconds. */
export const AIS_LIFETIME_MS = 600_000;

/** A value of the own vessel that has been stale for this time is forgotten, milliseconds. */
export const FORGET_MS = 3_600_000;
/** Interval between two searches for stale values to forget when there is no room, milliseconds. */
const PURGE_MS = 10_000;
/** A value is never stale earlier than this, milliseconds: buses and Wi-Fi gateways pause for moments. */
export const MIN_STALE_MS = 1000;
/** Interval of a PGN that has no standard interval, until its usual one is known, milliseconds. */
const UNKNOWN_INTERVAL_MS = 60_000;

/** The newest value of a source at a path. */
export interface Reading {
  /** `$source`. */
  readonly source: string;
  value: Json;
  /** Time of the message, milliseconds since 1970. */
  timeMs: number;
  /** When it came, monotonic milliseconds. */
  atMs: number;
  pgn: number;
  /** Interval of its messages. */
  readonly interval: UsualInterval;
  /** The PGN has a standard interval. */
  readonly isPeriodic: boolean;
  /** The device is no longer on the bus. */
  isGone: boolean;
  /** Clients were told that it is stale. */
  isTold: boolean;
}

/** A value that has become stale. */
export interface StaleValue {
  readonly entry: PathEntry;
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** It was the preferred one, and no other source has a fresh value. */
  readonly isPreferred: boolean;
}

/** A path of a context, with the newest value of each source. */
export class PathEntry {
  readonly context: ContextEntry;
  readonly path: string;
  /** By `$source`, in the order in which they were first heard. */
  readonly readings = new Map<string, Reading>();
  /** The source that clients get by default; undefined: all values are stale. */
  preferred: Reading | undefined;
  /** The last preferred source, and when it became stale, milliseconds since 1970. */
  last = { source: "", timeMs: 0 };
  /** Key of the quantity, for the setting of its preferred source. */
  quantity: string | undefined;
  readonly #field: string;
  readonly #pgn: number;
  #metadata: Metadata | undefined;

  constructor({ context, path, field, pgn }: { context: ContextEntry; path: string; field: string; pgn: number }) {
    this.context = context;
    this.path = path;
    this.#field = field;
    this.#pgn = pgn;
  }

  /** Unit and description; with the time after which the value is to be seen as stale, seconds. */
  get metadata(): Metadata {
    this.#metadata ??= metadataOf({ pgn: this.#pgn, path: this.path, field: this.#field });
    const reading = this.preferred ?? this.readings.values().next().value;
    if (!reading || !expires(reading)) return this.#metadata;
    return { ...this.#metadata, timeout: lifetimeMs(reading) / 1000 };
  }
}

/** A vessel, aid to navigation, station or aircraft. */
export interface ContextEntry {
  /** `vessels.urn:mrn:imo:mmsi:366982330`. */
  readonly id: string;
  readonly isSelf: boolean;
  readonly paths: Map<string, PathEntry>;
  /** Newest message, monotonic milliseconds. */
  heardMs: number;
}

/** A value that is new. */
export interface NewValue {
  readonly entry: PathEntry;
  readonly value: Json;
  /** It is from the source that clients get by default. */
  readonly isPreferred: boolean;
}

/** New values of one source. */
export interface Update {
  readonly context: ContextEntry;
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly values: readonly NewValue[];
}

/** Options of a {@linkcode SignalKModel}. */
export interface ModelOptions {
  /** Id of the own vessel: `urn:mrn:imo:mmsi:…` or `urn:mrn:signalk:uuid:…`. */
  self: string;
  /** `$source` of the device that is preferred for a quantity; undefined: none is. */
  preferredSource: (quantity: string) => string | undefined;
}

/**
 * The newest values by context, path and source. A value of the own vessel is stale after three of its intervals, or when
 * its device is gone; when all sources of a path are stale its value is null. Pure: times are parameters.
 */
export class SignalKModel {
  /** Contexts, the own vessel first, then in the order of their newest message. */
  readonly contexts = new Map<string, ContextEntry>();
  /** The own vessel. */
  readonly self: ContextEntry;
  readonly #preferredSource: ModelOptions["preferredSource"];
  #values = 0;
  #refused = 0;
  #refusedMs = -Infinity;
  #purgedMs = -Infinity;

  constructor({ self, preferredSource }: ModelOptions) {
    this.self = { id: `vessels.${self}`, isSelf: true, paths: new Map(), heardMs: -Infinity };
    this.contexts.set(this.self.id, this.self);
    this.#preferredSource = preferredSource;
  }

  /** Values not kept because there were too many. */
  get refused(): number {
    return this.#refused;
  }

  /** When the last one was not kept, monotonic milliseconds. */
  get refusedMs(): number {
    return this.#refusedMs;
  }

  /**
   * Takes the values of a message.
   *
   * @param options.quantityOf key of the quantity that a decoded field of the message has
   */
  apply(
    { context: id, source, pgn, timeUs, values }: SignalKDelta,
    { atMs, quantityOf }: { atMs: number; quantityOf: (field: string) => string | undefined },
  ): Update {
    const context = this.#contextOf(id, atMs);
    const timeMs = Math.floor(timeUs / 1000);
    const news: NewValue[] = [];
    for (const { path, value, field } of values) {
      let entry = context.paths.get(path);
      if (!entry) {
        entry = new PathEntry({ context, path, field, pgn });
        entry.quantity = context.isSelf ? quantityOf(field) : undefined;
      }
      const reading = this.#readingOf(entry, { source, pgn, atMs });
      if (!reading) continue;
      context.paths.set(path, entry);
      const merged = path === "" ? mergeObjects(reading.value, value) : value;
      Object.assign(reading, { value: merged, timeMs, atMs, pgn, isGone: false, isTold: false });
      reading.interval.note(timeMs);
      this.#prefer(entry, { reading, atMs });
      news.push({ entry, value, isPreferred: entry.preferred === reading });
    }
    return { context, source, timeMs, values: news };
  }

  /** Looks for values that have become stale, which are returned once, and for other preferred sources. */
  evaluate(nowMs: number, timeMs: number): StaleValue[] {
    const stale: StaleValue[] = [];
    for (const entry of this.self.paths.values()) {
      if (entry.path === "") continue;
      const before = entry.preferred;
      if (before) this.#choose(entry, nowMs);
      if (before && !entry.preferred) entry.last = { source: before.source, timeMs };
      for (const reading of entry.readings.values()) {
        if (!isStale(reading, nowMs)) continue;
        const { source } = reading;
        if (!reading.isTold) stale.push({ entry, source, timeMs, isPreferred: reading === before && !entry.preferred });
        reading.isTold = true;
        if (nowMs - reading.atMs > FORGET_MS) this.#forget(entry, source);
      }
    }
    for (const context of this.contexts.values()) {
      if (context.isSelf) continue;
      // In the order of their newest message.
      if (nowMs - context.heardMs <= AIS_LIFETIME_MS) break;
      this.#remove(context);
    }
    return stale;
  }

  /** Notes that a device is no longer on the bus: its values are stale. */
  gone(source: string): void {
    for (const { readings } of this.self.paths.values()) {
      const reading = readings.get(source);
      if (reading) reading.isGone = true;
    }
  }

  /** A device whose NAME is known now keeps its values. */
  rename(source: string, to: string): void {
    for (const entry of this.self.paths.values()) {
      const { readings } = entry;
      const reading = readings.get(source);
      if (!reading) continue;
      readings.delete(source);
      this.#values--;
      const known = readings.get(to);
      if (known) {
        if (entry.preferred === reading) entry.preferred = known;
        continue;
      }
      readings.set(to, Object.assign(reading, { source: to }));
      this.#values++;
    }
  }

  #contextOf(id: string, atMs: number): ContextEntry {
    if (id === SELF || id === this.self.id) {
      this.self.heardMs = atMs;
      return this.self;
    }
    const known = this.contexts.get(id);
    const context: ContextEntry = known ?? { id, isSelf: false, paths: new Map(), heardMs: atMs };
    context.heardMs = atMs;
    this.contexts.delete(id);
    this.contexts.set(id, context);
    if (!known && this.contexts.size > MAX_CONTEXTS) {
      const [, oldest] = this.contexts.values();
      if (oldest) this.#remove(oldest);
    }
    return context;
  }

  #forget({ path, context, readings }: PathEntry, source: string): void {
    if (readings.delete(source)) this.#values--;
    if (readings.size === 0) context.paths.delete(path);
  }

  /** Forgets all stale values of the own vessel, to make room. */
  #purge(nowMs: number): void {
    if (nowMs - this.#purgedMs < PURGE_MS) return;
    this.#purgedMs = nowMs;
    for (const entry of this.self.paths.values()) {
      for (const reading of entry.readings.values()) {
        if (reading.isTold && isStale(reading, nowMs)) this.#forget(entry, reading.source);
      }
    }
  }

  #remove(context: ContextEntry): void {
    this.contexts.delete(context.id);
    for (const { readings } of context.paths.values()) this.#values -= readings.size;
  }

  #readingOf(
    { readings }: PathEntry,
    { source, pgn, atMs }: { source: string; pgn: number; atMs: number },
  ): Reading | undefined {
    const known = readings.get(source);
    if (known) return known;
    if (this.#values >= MAX_VALUES) this.#purge(atMs);
    if (this.#values >= MAX_VALUES) {
      this.#refused++;
      this.#refusedMs = atMs;
      return undefined;
    }
    const standardMs = standardInterval(pgn);
    const reading: Reading = {
      ...{ source, value: null, timeMs: 0, atMs: 0, pgn, isGone: false, isTold: false },
      interval: new UsualInterval(standardMs ?? UNKNOWN_INTERVAL_MS),
      isPeriodic: standardMs !== undefined,
    };
    readings.set(source, reading);
    this.#values++;
    return reading;
  }

  /** Chooses the preferred source of a path when a value comes. */
  #prefer(entry: PathEntry, { reading, atMs }: { reading: Reading; atMs: number }): void {
    // AIS is one service: the newest report counts, whoever received it.
    if (!entry.context.isSelf || entry.readings.size === 1) entry.preferred = reading;
    else if (entry.preferred !== reading) this.#choose(entry, atMs);
  }

  #choose(entry: PathEntry, nowMs: number): void {
    const { preferred, readings, quantity } = entry;
    const named = readings.size > 1 && quantity !== undefined ? this.#preferredSource(quantity) : undefined;
    const wanted = named === undefined ? undefined : readings.get(named);
    if (wanted && !isStale(wanted, nowMs)) entry.preferred = wanted;
    else if (!preferred || isStale(preferred, nowMs)) {
      entry.preferred = [...readings.values()].find((each) => !isStale(each, nowMs));
    }
  }
}

/** Whether a value grows stale with time: its PGN has an interval, or has come at regular intervals. */
function expires({ isPeriodic, interval }: Reading): boolean {
  return isPeriodic || interval.isRegular;
}

function lifetimeMs({ interval }: Reading): number {
  return Math.max(MIN_STALE_MS, STALE_INTERVALS * interval.ms);
}

/** True for a value that must not be sent as new. */
export function isStale(reading: Reading, nowMs: number): boolean {
  if (reading.isGone) return true;
  return expires(reading) && nowMs - reading.atMs > lifetimeMs(reading);
}

const intervals = new Map<number, number | undefined>();

function standardInterval(pgn: number): number | undefined {
  if (!intervals.has(pgn)) intervals.set(pgn, describePgn(pgn)?.interval_ms);
  return intervals.get(pgn);
}

/** The parts of two objects; those of the second win. */
export function mergeObjects(known: Json, more: Json): Json {
  if (!isObject(known) || !isObject(more)) return more;
  const merged: { [key: string]: Json } = { ...known };
  for (const [key, value] of Object.entries(more)) merged[key] = mergeObjects(merged[key] ?? null, value);
  return merged;
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
