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
  /** Payload in hex; empty if the server sends only the fields. */
  data: string;
  /** Decoded fields, if the server sends them. */
  decoded?: DecodedFields | undefined;
}

/** The newest message of one PGN for one engine, tank or sensor of a device. */
export interface BoatValue {
  bus: string;
  src: number;
  pgn: number;
  /** Identifying fields, such as the number of the engine; "" if there are none. */
  instance: string;
  timeMs: number;
  payload: Uint8Array;
  decoded: Decoded;
}

/** A possible source of a value. */
export interface Source {
  pgn: number;
  /** Fields that are shown together. */
  fields: readonly string[];
  /** Selects messages of the PGN; default: all. */
  where?: (decoded: Decoded) => boolean;
}

/** An older value is shown with its age, and only if no source has a fresh one. */
const FRESH_MS = 10_000;
/** Most values in memory: far more than a boat has. */
export const MAX_VALUES = 2000;
/** Fields that distinguish things that a device reports with the same PGN. */
const INSTANCE_FIELDS = [
  ...["engine_instance", "instance", "fluid_type", "temperature_source", "pressure_source", "wind_reference"],
];

/** The newest values of a boat, by device, PGN and instance. */
export class BoatValues {
  readonly #pgns: ReadonlySet<number>;
  readonly #values = new Map<string, BoatValue>();
  #newestMs = -Infinity;

  /** @param pgns PGNs to keep */
  constructor(pgns: Iterable<number>) {
    this.#pgns = new Set(pgns);
  }

  /** Adds a message. Ignores it if it is older than the stored one or cannot be decoded. */
  add({ bus = "", src, pgn, ts, data, decoded: received }: BoatMessage): void {
    if (!this.#pgns.has(pgn)) return;
    const payload = readHex(data);
    if (payload === undefined) return;
    const decoded = payload.length > 0 ? decode(pgn, payload) : received;
    if (!decoded) return;
    const timeMs = Date.parse(ts);
    const instance = INSTANCE_FIELDS.map((name) => decoded[name]).filter((each) => each !== undefined).join("/");
    const key = `${pgn} ${bus} ${src} ${instance}`;
    const before = this.#values.get(key);
    if (before ? before.timeMs > timeMs : this.#values.size >= MAX_VALUES) return;
    this.#newestMs = Math.max(this.#newestMs, timeMs);
    this.#values.set(key, { bus, src, pgn, instance, timeMs, payload, decoded });
  }

  /** The values of these sources, in the order of the sources, then by bus and address. */
  all(sources: readonly Source[]): BoatValue[] {
    return sources.flatMap(({ pgn, fields, where }) =>
      [...this.#values.values()]
        .filter((value) => value.pgn === pgn && where?.(value.decoded) !== false)
        .filter(({ decoded }) => fields.some((name) => (decoded[name] ?? null) !== null))
        .sort((a, b) => compare(a.bus, b.bus) || a.src - b.src)
    );
  }

  /**
   * The value of these sources to show: the first fresh one, so that it does not alternate between devices; else the
   * newest.
   *
   * @param isWanted selects values; default: all
   */
  best(sources: readonly Source[], isWanted: (value: BoatValue) => boolean = () => true): BoatValue | undefined {
    const found = this.all(sources).filter(isWanted);
    return found.find((value) => this.ageMs(value) <= FRESH_MS) ??
      found.toSorted((a, b) => b.timeMs - a.timeMs)[0];
  }

  /** Age of a value relative to the newest of all, milliseconds. */
  ageMs({ timeMs }: BoatValue): number {
    return this.#newestMs - timeMs;
  }

  /** Texts of the fields, with the age of a value that is not fresh. */
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
