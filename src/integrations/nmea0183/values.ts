import type { DecodedValues, Quantity, QuantityValue, SourceDevice } from "../../quantities/mod.ts";
import type { MessageTable } from "./message_table.ts";

const DAY_MS = 86_400_000;
/** PGNs with date and time, the preferred one first. */
const TIME_PGNS = [129029, 126992, 129033];

/** What sentences are made of: fresh values of the preferred sources at one moment. A stale value does not exist. */
export class SentenceValues {
  readonly #values = new Map<string, QuantityValue>();
  /** Preferred device of each known quantity, also while its value is stale. */
  readonly #devices = new Map<string, SourceDevice | undefined>();
  readonly #messages: MessageTable;
  readonly #nowMs: number;

  /** @param options.nowMs monotonic milliseconds */
  constructor(quantities: readonly Quantity[], { messages, nowMs }: { messages: MessageTable; nowMs: number }) {
    this.#messages = messages;
    this.#nowMs = nowMs;
    for (const { key, preferred } of quantities) {
      this.#devices.set(key, preferred?.device);
      if (preferred && !preferred.isStale) this.#values.set(key, preferred.value);
    }
  }

  /** True if a quantity was ever received. */
  wasKnown(key: string): boolean {
    return this.#devices.has(key);
  }

  /** Number of quantities ever received whose keys match. */
  countKnown(pattern: RegExp): number {
    return [...this.#devices.keys()].filter((key) => pattern.test(key)).length;
  }

  /** A number of the preferred source; undefined: missing or stale. */
  number(key: string): number | undefined {
    const value = this.#values.get(key);
    return typeof value === "number" ? value : undefined;
  }

  /** Keys with fresh numbers that match; the groups of the match, and the value. */
  matching(pattern: RegExp): { groups: string[]; value: number }[] {
    return [...this.#values].flatMap(([key, value]) => {
      const match = pattern.exec(key);
      return match && typeof value === "number" ? [{ groups: match.slice(1), value }] : [];
    });
  }

  /** Position of the preferred source. A device that says that it has no fix has none. */
  get position(): { latitude: number; longitude: number } | undefined {
    const value = this.#values.get("position");
    if (typeof value !== "object" || Math.abs(value.latitude) > 90 || Math.abs(value.longitude) > 180) return undefined;
    return this.ofGnss(129029)?.number("gnss_method") === 0 ? undefined : value;
  }

  /** A message of the device whose position is used. */
  ofGnss(pgn: number): MessageFields | undefined {
    return this.ofSource("position", pgn);
  }

  /** A message of the device whose value of a quantity is used. */
  ofSource(key: string, pgn: number): MessageFields | undefined {
    return this.#of(this.#devices.get(key), pgn);
  }

  /** The newest message of a PGN, of one device while it is fresh. */
  message(pgn: number): MessageFields | undefined {
    return this.beside(pgn)(pgn);
  }

  /**
   * Reads messages of one device: of the one that {@linkcode message} would use.
   *
   * @param partner a PGN: devices that send this one, too, are preferred
   */
  beside(pgn: number, partner?: number): (pgn: number) => MessageFields | undefined {
    const device = this.#messages.deviceOf(pgn, { nowMs: this.#nowMs, partner });
    return (other) => this.#of(device, other);
  }

  /**
   * Time of the device whose position is used, else of another one, milliseconds since 1970; undefined: none on the bus.
   */
  get timeMs(): number | undefined {
    const times = (read: (pgn: number) => MessageFields | undefined) => TIME_PGNS.map((pgn) => timeOf(read(pgn)));
    const isTime = (timeMs: number | undefined) => timeMs !== undefined;
    return times((pgn) => this.ofGnss(pgn)).find(isTime) ?? times((pgn) => this.message(pgn)).find(isTime);
  }

  /** True if the values of two quantities are those of one device. */
  isOneSource(key: string, other: string): boolean {
    const [a, b] = [this.#devices.get(key), this.#devices.get(other)];
    return a !== undefined && a.name === b?.name && a.src === b.src && a.bus === b.bus;
  }

  /** Magnetic variation, east positive, radians. */
  get variation(): number | undefined {
    return this.number("variation");
  }

  /** True and magnetic direction of a pair of quantities; one follows from the other and the variation. */
  directions(trueKey: string, magneticKey: string): Directions {
    return this.completed(this.number(trueKey), this.number(magneticKey));
  }

  /** Completes a direction of which one form is known. */
  completed(trueRad: number | undefined, magneticRad: number | undefined): Directions {
    const { variation } = this;
    const shift = (value: number | undefined, by: number) =>
      value === undefined || variation === undefined ? undefined : value + by * variation;
    return { true: trueRad ?? shift(magneticRad, 1), magnetic: magneticRad ?? shift(trueRad, -1) };
  }

  #of(device: SourceDevice | undefined, pgn: number): MessageFields | undefined {
    const message = device && this.#messages.of(pgn, { nowMs: this.#nowMs, device });
    return message && new MessageFields(message.decoded, this.#nowMs - message.atMs);
  }
}

/** A direction against true and magnetic north, radians. */
export interface Directions {
  readonly true: number | undefined;
  readonly magnetic: number | undefined;
}

/** Fields of a decoded message. */
export class MessageFields {
  readonly #decoded: DecodedValues;
  /** Time since it was received, milliseconds. */
  readonly ageMs: number;

  constructor(decoded: DecodedValues, ageMs = 0) {
    this.#decoded = decoded;
    this.ageMs = ageMs;
  }

  number(field: string): number | undefined {
    const value = this.#decoded[field];
    return typeof value === "number" ? value : undefined;
  }

  text(field: string): string | undefined {
    const value = this.#decoded[field];
    return typeof value === "string" ? value : undefined;
  }

  /** Objects of a repeated group. */
  list(field: string): MessageFields[] {
    const value = this.#decoded[field];
    return Array.isArray(value) ? value.filter(isObject).map((each) => new MessageFields(each)) : [];
  }
}

/** Time that a message of {@linkcode TIME_PGNS} says, and its age. */
function timeOf(message: MessageFields | undefined): number | undefined {
  if (!message) return undefined;
  const [day, second] = [message.number("days_since_1970"), message.number("seconds_today")];
  const timeMs = day !== undefined && second !== undefined
    ? day * DAY_MS + second * 1000
    : Date.parse(`${message.text("date")}T${message.text("time")}Z`);
  return Number.isFinite(timeMs) ? timeMs + message.ageMs : undefined;
}

function isObject(value: unknown): value is DecodedValues {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
