import { BOAT_DEFAULTS, CLIENT_ID, type Filter, type Slot } from "@vessel/gateway";
import { readName } from "@vessel/gateway/frame";
import { parseDuration } from "@vessel/gateway/settings";
import { nearest } from "./nearest.ts";
import { duration, integer, size, structured } from "./option_types.ts";
import type { Options } from "./options.ts";

/** Settings of buffered sessions. */
export interface SessionSettings {
  maxSessions: number;
  maxBufferDurationMs: number;
  maxBodyBytes: number;
  /** Sessions that are there from the start. */
  slots: readonly Slot[];
}

const SESSIONS = "Sessions";
const NETWORK = "Network";
const MIN_BODY_BYTES = 1024;
const MAX_UINT32 = 0xffff_ffff;
const MAX_DEVICE_INSTANCE = 252;

const SLOT_KEYS = ["id", "buffer-timeout", "filter"];
const FILTER_KEYS = ["pgn", "exclude-pgn", "manufacturer", "instance", "name", "exclude-name", "bus"];

/** Options of sessions, the same for every server that keeps them. */
export const sessionOptions: Options<SessionSettings> = {
  maxSessions: integer({
    name: "max-sessions",
    default: BOAT_DEFAULTS.maxSessions,
    min: 1,
    max: 1_000_000,
    help: "Most sessions of clients, slots not counted.",
    group: SESSIONS,
    reloadable: true,
  }),
  maxBufferDurationMs: duration({
    name: "max-buffer-duration",
    default: BOAT_DEFAULTS.maxBufferDurationMs,
    minMs: 1000,
    help: "Longest time that a session is kept while its client is away, whatever the client asks for.",
    group: SESSIONS,
    reloadable: true,
  }),
  maxBodyBytes: size({
    name: "max-body-bytes",
    default: BOAT_DEFAULTS.maxBodyBytes,
    minBytes: MIN_BODY_BYTES,
    maxBytes: 2 ** 24,
    help: "Longest body of a request; a longer one is answered with 413.",
    group: NETWORK,
  }),
  slots: structured<readonly Slot[]>({
    name: "slots",
    key: "clients.slots",
    default: [],
    help:
      "Sessions that are there from the start and never go: a list of { id, buffer-timeout, filter { pgn, exclude-pgn, " +
      "manufacturer, instance, name, exclude-name, bus } }.",
    group: SESSIONS,
    parse: readSlots,
    format: (slots) => slots.length === 0 ? undefined : slots.map(({ id }) => id).join(","),
  }),
};

/** Reads `clients.slots`. @throws {RangeError} naming the place */
export function readSlots(value: unknown): Slot[] {
  const slots = listOf(value).map((each, index) => readSlot(each, `clients.slots[${index}]`));
  const twice = slots.find(({ id }, index) => slots.findIndex((each) => each.id === id) !== index);
  if (twice) throw new RangeError(`clients.slots: the id "${twice.id}" is given twice`);
  return slots;
}

function readSlot(value: unknown, place: string): Slot {
  const { id, "buffer-timeout": timeout, filter } = section(value, { place, known: SLOT_KEYS });
  if (id === undefined) throw new RangeError(`${place}.id: missing`);
  if (!CLIENT_ID.test(String(id))) {
    throw new RangeError(`${place}.id: cannot use "${id}": expected 1 to 64 letters, digits, hyphens or underscores`);
  }
  if (timeout === undefined) throw new RangeError(`${place}.buffer-timeout: missing`);
  return {
    id: String(id),
    timeoutMs: readTimeout(String(timeout), `${place}.buffer-timeout`),
    filter: filter === undefined ? {} : readFilter(filter, `${place}.filter`),
  };
}

function readTimeout(text: string, place: string): number {
  try {
    const ms = parseDuration(text);
    if (ms >= 1) return ms;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RangeError(`${place}: ${error.message}`);
  }
  throw new RangeError(`${place}: must be longer than nothing`);
}

function readFilter(value: unknown, place: string): Filter {
  const given = section(value, { place, known: FILTER_KEYS });
  const numbers = (key: string, max: number) => listAt(given[key], (each) => readNumber(each, { max, place, key }));
  const texts = (key: string) => listAt(given[key], (each) => readText(each, `${place}.${key}`));
  const names = (key: string) =>
    texts(key)?.map((text) => {
      if (readName(text) !== undefined) return text;
      throw new RangeError(`${place}.${key}: cannot read the NAME "${text}": expected 1 to 16 hex digits`);
    });
  const filter = {
    pgn: numbers("pgn", MAX_UINT32),
    exclude_pgn: numbers("exclude-pgn", MAX_UINT32),
    manufacturer: texts("manufacturer"),
    instance: numbers("instance", MAX_DEVICE_INSTANCE),
    name: names("name"),
    exclude_name: names("exclude-name"),
    bus: texts("bus"),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, list]) => list !== undefined));
}

function readNumber(value: unknown, { max, place, key }: { max: number; place: string; key: string }): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : NaN;
  if (number <= max) return number;
  throw new RangeError(`${place}.${key}: cannot read "${value}": expected a whole number from 0 to ${max}`);
}

function readText(value: unknown, place: string): string {
  if ((typeof value === "string" || typeof value === "number") && value !== "") return String(value);
  throw new RangeError(`${place}: expected a text`);
}

function section(
  value: unknown,
  { place, known }: { place: string; known: readonly string[] },
): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RangeError(`${place}: expected a section with ${known.join(", ")}`);
  }
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return { ...value };
  throw new RangeError(`${place}: unknown key "${unknown}": did you mean "${nearest(unknown, known)}"?`);
}

/** One value is as good as a list of one. */
function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function listAt<T>(value: unknown, read: (each: unknown) => T): T[] | undefined {
  return value === undefined || value === null ? undefined : listOf(value).map(read);
}
