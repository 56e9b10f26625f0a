import { UsualInterval } from "./interval.ts";
import {
  type DecodedValues,
  labelOfQuantity,
  type QuantityReading,
  type QuantityValue,
  readQuantities,
} from "./read.ts";
import { CATEGORIES, QUANTITIES, type QuantityRow } from "./table.ts";

/** A value is stale when it is older than this many of its usual intervals. */
export const STALE_INTERVALS = 3;
/** Default maximum number of (quantity, device, PGN) whose values are kept. */
export const DEFAULT_MAX_READINGS = 4096;

/** A device as the source of a value. */
export interface SourceDevice {
  /** NAME, 16 hex digits; empty while it is unknown. */
  readonly name: string;
  /** Source address. */
  readonly src: number;
  /** Name of the bus; left out when there is only one. */
  readonly bus?: string;
}

/** A decoded message of a device. */
export interface Observation {
  /** Parameter group number. */
  readonly pgn: number;
  /** Its decoded fields. */
  readonly decoded: DecodedValues;
  /** The sender. */
  readonly device: SourceDevice;
  /** Time of the message, milliseconds since 1970. */
  readonly timeMs: number;
  /** When it came, monotonic milliseconds. */
  readonly atMs: number;
}

/** One device's value of a quantity. */
export interface QuantitySource {
  /** The sender. */
  readonly device: SourceDevice;
  /** PGN of the message. */
  readonly pgn: number;
  /** In the unit of the quantity. */
  readonly value: QuantityValue;
  /** Time of the message, milliseconds since 1970. */
  readonly timeMs: number;
  /** Time since the message came, milliseconds. */
  readonly ageMs: number;
  /** Its usual interval, milliseconds. */
  readonly intervalMs: number;
  /** Whether it is older than {@linkcode STALE_INTERVALS} of them. */
  readonly isStale: boolean;
}

/** Why a device is preferred: a setting names it, or it was the first with a fresh value. */
export type PreferredBy = "setting" | "first_heard";

/** A quantity with all devices that have it. */
export interface Quantity {
  /** Name for programs: `engine.0.speed`. */
  readonly key: string;
  /** Its description. */
  readonly row: QuantityRow;
  /** Name for people. */
  readonly label: string;
  /** The preferred source; undefined while all values are stale. */
  readonly preferred: QuantitySource | undefined;
  /** Why this one is preferred. */
  readonly by: PreferredBy;
  /** All sources, the preferred one first. */
  readonly sources: readonly QuantitySource[];
}

/**
 * Why another device is preferred: `first` to be heard; the one before is `stale` or was `removed`; it is `fresh` after all
 * were stale; a `setting` names it.
 */
export type SwitchReason = "first" | "stale" | "fresh" | "setting" | "removed";

/** Another device is preferred now. */
export interface SourceSwitch {
  /** Key of the quantity. */
  readonly key: string;
  /** Undefined: there was none. */
  readonly from: SourceDevice | undefined;
  /** Undefined: all values are stale. */
  readonly to: SourceDevice | undefined;
  /** What has changed. */
  readonly reason: SwitchReason;
}

interface Reading {
  readonly row: QuantityRow;
  readonly rank: number;
  readonly interval: UsualInterval;
  device: SourceDevice;
  value: QuantityValue;
  timeMs: number;
  atMs: number;
}

interface Entry {
  readonly key: string;
  readonly label: string;
  /** NAME that the settings prefer. */
  wanted: string | undefined;
  /** By device, in the order in which they were first heard; of each, by PGN. */
  readonly devices: Map<string, Map<number, Reading>>;
  preferred: { id: string; device: SourceDevice; by: PreferredBy } | undefined;
  /** The device that was preferred before all values were stale. */
  last: SourceDevice | undefined;
}

/** Settings of the preferred sources: NAME (16 hex digits) by key of a quantity, or by its beginning up to a point. */
export type PreferredSources = ReadonlyMap<string, string>;

/**
 * The quantities of a boat: their newest values by device, how old they are, and which device is preferred. Pure: times are
 * parameters.
 *
 * The device that a setting names is preferred while its value is fresh. Else the preferred device stays so while its value
 * is fresh; then the first-heard device with a fresh value follows. So two sensors never alternate.
 */
export class Quantities {
  readonly #entries = new Map<string, Entry>();
  readonly #maxReadings: number;
  #preferred: PreferredSources = new Map();
  #readings = 0;
  #refused = 0;

  /** No values yet. @param options.maxReadings default {@linkcode DEFAULT_MAX_READINGS} */
  constructor({ maxReadings = DEFAULT_MAX_READINGS, preferred = new Map() }: {
    maxReadings?: number;
    preferred?: PreferredSources;
  } = {}) {
    this.#maxReadings = maxReadings;
    this.#preferred = preferred;
  }

  /** Values not kept because there were too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Replaces the settings; returns the switches that follow. */
  prefer(preferred: PreferredSources, atMs: number): SourceSwitch[] {
    this.#preferred = preferred;
    for (const entry of this.#entries.values()) entry.wanted = this.#wantedFor(entry.key);
    return this.evaluate(atMs);
  }

  /** Takes a message; returns the switches that follow. */
  observe(message: Observation): SourceSwitch[] {
    const switches: SourceSwitch[] = [];
    for (const reading of readQuantities(message.pgn, message.decoded)) {
      // "Not available" is no value: the last one grows old.
      if (reading.value === undefined) continue;
      const entry = this.#note(reading, { ...message, value: reading.value });
      if (!entry || staysPreferred(entry, message.device)) continue;
      const change = this.#choose(entry, message.atMs);
      if (change) switches.push(change);
    }
    return switches;
  }

  /** Looks for values that have become stale. Call it a few times a second. */
  evaluate(atMs: number): SourceSwitch[] {
    return [...this.#entries.values()].flatMap((entry) => this.#choose(entry, atMs) ?? []);
  }

  /** Forgets devices that are no longer on the bus. */
  remove(devices: readonly SourceDevice[], atMs: number): SourceSwitch[] {
    const gone = new Set(devices.map(idOf));
    const switches: SourceSwitch[] = [];
    for (const [key, entry] of this.#entries) {
      const ids = [...entry.devices.keys()].filter((id) => gone.has(id));
      if (ids.length === 0) continue;
      for (const id of ids) {
        this.#readings -= entry.devices.get(id)?.size ?? 0;
        entry.devices.delete(id);
      }
      const change = this.#choose(entry, atMs);
      if (change) switches.push(change);
      if (entry.devices.size === 0) this.#entries.delete(key);
    }
    return switches;
  }

  /** All quantities that were heard, by category and in the order of the table. */
  list(atMs: number): Quantity[] {
    return [...this.#entries.values()].map((entry) => describe(entry, atMs)).sort((a, b) =>
      CATEGORIES.indexOf(a.row.category) - CATEGORIES.indexOf(b.row.category) ||
      QUANTITIES.indexOf(a.row) - QUANTITIES.indexOf(b.row) || (a.key < b.key ? -1 : 1)
    );
  }

  /** One quantity; undefined: never heard. */
  get(key: string, atMs: number): Quantity | undefined {
    const entry = this.#entries.get(key);
    return entry && describe(entry, atMs);
  }

  /** The preferred device of a quantity as of the last evaluation; undefined: never heard, or all values are stale. */
  preferredOf(key: string): SourceDevice | undefined {
    return this.#entries.get(key)?.preferred?.device;
  }

  #note(
    { key, row, rank }: QuantityReading,
    { device, timeMs, atMs, value }: Observation & { value: QuantityValue },
  ): Entry | undefined {
    const id = idOf(device);
    const known = this.#entries.get(key);
    const entry: Entry = known ?? {
      key,
      label: labelOfQuantity(row, key),
      wanted: this.#wantedFor(key),
      devices: new Map(),
      preferred: undefined,
      last: undefined,
    };
    if (device.name !== "") this.#adopt(entry, device);
    const readings = entry.devices.get(id) ?? new Map<number, Reading>();
    let reading = readings.get(row.pgn);
    if (!reading) {
      if (this.#readings >= this.#maxReadings) {
        this.#refused++;
        return undefined;
      }
      this.#readings++;
      reading = { row, rank, interval: new UsualInterval(row.intervalMs), device, value, timeMs, atMs };
      readings.set(row.pgn, reading);
    }
    reading.interval.note(timeMs);
    Object.assign(reading, { device, value, timeMs, atMs });
    entry.devices.set(id, readings);
    if (!known) this.#entries.set(key, entry);
    return entry;
  }

  /** A device whose NAME is known now keeps what it said before. */
  #adopt(entry: Entry, device: SourceDevice): void {
    const before = idOf({ ...device, name: "" });
    const readings = entry.devices.get(before);
    if (!readings) return;
    const id = idOf(device);
    if (entry.preferred?.id === before) entry.preferred = { ...entry.preferred, id, device };
    // The order of the devices is that in which they were heard.
    const all = [...entry.devices].filter(([each]) => each !== id);
    this.#readings -= entry.devices.get(id)?.size ?? 0;
    entry.devices.clear();
    for (const [each, value] of all) entry.devices.set(each === before ? id : each, value);
  }

  #choose(entry: Entry, atMs: number): SourceSwitch | undefined {
    if (keepsPreferred(entry, atMs)) return undefined;
    const fresh = [...entry.devices].filter(([, readings]) => best(readings, atMs).isFresh)
      .map(([id, readings]) => ({ id, device: best(readings, atMs).reading.device }));
    const before = entry.preferred;
    const { wanted } = entry;
    const named = wanted === undefined ? undefined : fresh.find(({ device }) => device.name === wanted);
    const chosen = named ?? fresh.find(({ id }) => id === before?.id) ?? fresh[0];
    const by = named ? "setting" : "first_heard";
    entry.preferred = chosen && { ...chosen, by };
    if (chosen?.id === before?.id) return undefined;
    const from = before?.device ?? entry.last;
    if (!chosen) entry.last = before?.device;
    // A value that comes again from the device that had it is no switch.
    if (!before && chosen && from && idOf(from) === chosen.id) return undefined;
    const isGone = before !== undefined && !entry.devices.has(before.id);
    const reason = named ? "setting" : isGone ? "removed" : before ? "stale" : from ? "fresh" : "first";
    return { key: entry.key, from, to: chosen?.device, reason };
  }

  #wantedFor(key: string): string | undefined {
    const parts = key.split(".");
    for (let length = parts.length; length > 0; length--) {
      const name = this.#preferred.get(parts.slice(0, length).join("."));
      if (name !== undefined) return name;
    }
    return undefined;
  }
}

/** True for a fresh value of the preferred device, if no setting prefers another. */
function staysPreferred({ preferred, wanted }: Entry, device: SourceDevice): boolean {
  if (preferred?.id !== idOf(device) || (wanted !== undefined && preferred.by !== "setting")) return false;
  preferred.device = device;
  return true;
}

/** True if the preferred device's value is fresh and no setting prefers another: the other devices need not be read. */
function keepsPreferred({ preferred, wanted, devices }: Entry, atMs: number): boolean {
  const readings = preferred && devices.get(preferred.id);
  if (!preferred || !readings) return false;
  if (preferred.by !== (wanted === undefined ? "first_heard" : "setting")) return false;
  if (wanted !== undefined && preferred.device.name !== wanted) return false;
  const { reading, isFresh } = best(readings, atMs);
  if (isFresh) preferred.device = reading.device;
  return isFresh;
}

/** Identity of a device: its NAME, which stays when its address changes. */
function idOf({ name, src, bus = "" }: SourceDevice): string {
  return name === "" ? `${bus}/${src}` : name;
}

/** A device's fresh value from the best PGN, else its newest one. */
function best(readings: ReadonlyMap<number, Reading>, atMs: number): { reading: Reading; isFresh: boolean } {
  const all = [...readings.values()];
  const fresh = all.filter((each) => !isStale(each, atMs)).sort((a, b) => a.rank - b.rank)[0];
  const newest = all.reduce((a, b) => b.atMs > a.atMs ? b : a);
  return { reading: fresh ?? newest, isFresh: fresh !== undefined };
}

function isStale({ atMs: cameMs, interval }: Reading, atMs: number): boolean {
  return atMs - cameMs > STALE_INTERVALS * interval.ms;
}

function describe({ key, label, devices, preferred }: Entry, atMs: number): Quantity {
  const sources = [...devices].map(([id, readings]) => {
    const { reading: { row, device, value, timeMs, atMs: cameMs, interval }, isFresh } = best(readings, atMs);
    const source = {
      device,
      pgn: row.pgn,
      value,
      timeMs,
      ageMs: Math.max(0, atMs - cameMs),
      intervalMs: interval.ms,
      isStale: !isFresh,
    };
    return { id, row, source };
  });
  const chosen = sources.find(({ id }) => id === preferred?.id);
  // While all are stale, the newest one is shown first.
  const first = chosen ?? [...sources].sort((a, b) => a.source.ageMs - b.source.ageMs)[0];
  if (!first) throw new Error(`Quantity ${key} without a source`);
  const others = sources.filter((each) => each !== first).map(({ source }) => source);
  return {
    ...{ key, row: first.row, label, by: preferred?.by ?? "first_heard" },
    preferred: chosen?.source,
    sources: [first.source, ...others],
  };
}
