import type { DecodedFields } from "@vessel/gateway/client";
import { readHex } from "@vessel/gateway/frame";
import { decode, type Decoded, fieldsOfPayload } from "@vessel/gateway/pgn";
import { oneFieldText, type UnitSystem, valueText } from "@vessel/gateway/units";
import { printable } from "../../program/terminal.ts";

/** A message with its bus and payload. */
export interface BoatMessage {
  bus?: string | undefined;
  src: number;
  pgn: number;
  /** RFC 3339. */
  ts: string;
  /** Hex; empty where a server tells only the fields. */
  data: string;
  /** Its fields, where the server tells them. */
  decoded?: DecodedFields | undefined;
}

/** The newest message of one thing: what an engine, a tank or a sensor of a device says in a PGN. */
export interface BoatValue {
  bus: string;
  src: number;
  pgn: number;
  /** Number of the engine, battery or tank; "" where there is none. */
  instance: string;
  timeMs: number;
  payload: Uint8Array;
  decoded: Decoded;
}

/** Where a value may be found. */
export interface Source {
  pgn: number;
  /** Fields that are told together. */
  fields: readonly string[];
  /** Which messages of the PGN are meant. */
  where?: (decoded: Decoded) => boolean;
}

/** A value older than this is shown with its age, and only where nobody has a newer one. */
const FRESH_MS = 10_000;
/** Most values that are kept: far more than a boat has. */
export const MAX_VALUES = 2000;
/** What tells things apart that a device speaks of in the same PGN. */
const INSTANCE_FIELDS = [
  ...["engine_instance", "instance", "fluid_type", "temperature_source", "pressure_source", "wind_reference"],
];

/** The newest values of a boat, each device and instance by itself, so that each has a place of its own. */
export class BoatValues {
  readonly #pgns: ReadonlySet<number>;
  readonly #values = new Map<string, BoatValue>();
  #newestMs = -Infinity;

  /** @param pgns messages that are kept */
  constructor(pgns: Iterable<number>) {
    this.#pgns = new Set(pgns);
  }

  /** Takes a message. Whatever is older than what is there already, or cannot be decoded, is left out. */
  take({ bus = "", src, pgn, ts, data, decoded: told }: BoatMessage): void {
    if (!this.#pgns.has(pgn)) return;
    const payload = readHex(data);
    if (payload === undefined) return;
    const decoded = payload.length > 0 ? decode(pgn, payload) : told;
    if (!decoded) return;
    const timeMs = Date.parse(ts);
    const instance = INSTANCE_FIELDS.map((name) => decoded[name]).filter((each) => each !== undefined).join("/");
    const key = `${pgn} ${bus} ${src} ${instance}`;
    const before = this.#values.get(key);
    if (before ? before.timeMs > timeMs : this.#values.size >= MAX_VALUES) return;
    this.#newestMs = Math.max(this.#newestMs, timeMs);
    this.#values.set(key, { bus, src, pgn, instance, timeMs, payload, decoded });
  }

  /** What of these sources there is, by the order of the sources, then by bus and address. */
  all(sources: readonly Source[]): BoatValue[] {
    return sources.flatMap(({ pgn, fields, where }) =>
      [...this.#values.values()]
        .filter((value) => value.pgn === pgn && where?.(value.decoded) !== false)
        .filter(({ decoded }) => fields.some((name) => (decoded[name] ?? null) !== null))
        .sort((a, b) => compare(a.bus, b.bus) || a.src - b.src)
    );
  }

  /**
   * The one value of these sources that is shown: the first that is fresh, so that it does not change between devices;
   * else the newest.
   *
   * @param isMeant which of them; default all
   */
  best(sources: readonly Source[], isMeant: (value: BoatValue) => boolean = () => true): BoatValue | undefined {
    const found = this.all(sources).filter(isMeant);
    return found.find((value) => this.ageMs(value) <= FRESH_MS) ??
      found.toSorted((a, b) => b.timeMs - a.timeMs)[0];
  }

  /** How much older a value is than the newest of all. */
  ageMs({ timeMs }: BoatValue): number {
    return this.#newestMs - timeMs;
  }

  /** Fields of a value for people, with its age where that is not fresh. */
  texts(value: BoatValue, { fields, units }: { fields: readonly string[]; units: UnitSystem }): string[] {
    const { pgn, payload, decoded } = value;
    const options = { fields: fieldsOfPayload(pgn, payload) ?? new Map(), system: units, clean: printable };
    const texts = fields.map((name) => oneFieldText(name, decoded, options)).filter((text) => text !== undefined);
    return [...texts, ...this.#ageTexts(value)];
  }

  #ageTexts(value: BoatValue): string[] {
    const ageMs = this.ageMs(value);
    if (ageMs <= FRESH_MS) return [];
    const age = valueText(Math.round(ageMs / 1000), { name: "age", unit: "s" }, { system: "metric", resolution: 1 });
    return [`(${age} old)`];
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
