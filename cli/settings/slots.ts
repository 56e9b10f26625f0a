import { boundFilter, CLIENT_ID, type Filter, FilterError, type Slot } from "@vessel/gateway/boat";
import { readName } from "@vessel/gateway/frame";
import { parseDuration } from "@vessel/gateway/base";
import { nearest } from "@vessel/gateway/units";
import { doubtManufacturers } from "./filter_names.ts";

/** The position of a value, and how words of keys are joined there: `buffer-timeout` or `buffer_timeout`. */
interface Position {
  path: string;
  joint: "-" | "_";
}

const MAX_UINT32 = 0xffff_ffff;
const MAX_DEVICE_INSTANCE = 252;
const SLOT_KEYS = ["id", "buffer-timeout", "filter"];
const FILTER_KEYS = ["pgn", "exclude-pgn", "manufacturer", "instance", "name", "exclude-name", "bus"];

/** Reads the slots of settings. @throws {RangeError} naming the position */
export function readSlots(value: unknown, { path, joint }: Position): Slot[] {
  const slots = listOf(value).map((each, index) => readSlot(each, { path: `${path}[${index}]`, joint }));
  const twice = slots.find(({ id }, index) => slots.findIndex((each) => each.id === id) !== index);
  if (twice) throw new RangeError(`${path}: the id "${twice.id}" is given twice`);
  return slots;
}

/** A warning about the first unknown manufacturer in a slot's filter, or undefined. */
export function doubtSlots(slots: readonly Slot[]): string | undefined {
  for (const { id, filter } of slots) {
    const doubt = doubtManufacturers(filter.manufacturer ?? []);
    if (doubt !== undefined) return `Slot "${id}": ${doubt}`;
  }
  return undefined;
}

function readSlot(value: unknown, position: Position): Slot {
  const { id, "buffer-timeout": timeout, filter } = section(value, { position, known: SLOT_KEYS });
  const [idPath, timeoutPath] = [at(position, "id"), at(position, "buffer-timeout")];
  if (id === undefined) throw new RangeError(`${idPath}: missing`);
  if (!CLIENT_ID.test(String(id))) {
    throw new RangeError(`${idPath}: cannot use "${id}": expected 1 to 64 letters, digits, hyphens or underscores`);
  }
  if (timeout === undefined) throw new RangeError(`${timeoutPath}: missing`);
  return {
    id: String(id),
    timeoutMs: readTimeout(String(timeout), timeoutPath),
    filter: filter === undefined || filter === null
      ? {}
      : readFilter(filter, { ...position, path: at(position, "filter") }),
  };
}

function readTimeout(text: string, path: string): number {
  try {
    const ms = parseDuration(text);
    if (ms >= 1) return ms;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RangeError(`${path}: ${error.message}`);
  }
  throw new RangeError(`${path}: must be longer than nothing`);
}

function readFilter(value: unknown, position: Position): Filter {
  const given = section(value, { position, known: FILTER_KEYS });
  const numbers = (key: string, max: number) =>
    listAt(given[key], (each) => readNumber(each, { max, path: at(position, key) }));
  const texts = (key: string) => listAt(given[key], (each) => readText(each, at(position, key)));
  const names = (key: string) =>
    texts(key)?.map((text) => {
      if (readName(text) !== undefined) return text;
      throw new RangeError(`${at(position, key)}: cannot read the NAME "${text}": expected 1 to 16 hex digits`);
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
  try {
    return boundFilter(Object.fromEntries(Object.entries(filter).filter(([, list]) => list !== undefined)));
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw new RangeError(`${at(position, error.field.replaceAll("_", "-"))}: ${error.message}`);
  }
}

function readNumber(value: unknown, { max, path }: { max: number; path: string }): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : NaN;
  if (number <= max) return number;
  throw new RangeError(`${path}: cannot read "${value}": expected a whole number from 0 to ${max}`);
}

function readText(value: unknown, path: string): string {
  if ((typeof value === "string" || typeof value === "number") && value !== "") return String(value);
  throw new RangeError(`${path}: expected a text`);
}

/** The section, with the words of its keys joined by hyphens. */
function section(
  value: unknown,
  { position: { path, joint }, known }: { position: Position; known: readonly string[] },
): Record<string, unknown> {
  const allowed = known.map((key) => key.replaceAll("-", joint));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RangeError(`${path}: expected a section with ${allowed.join(", ")}`);
  }
  const unknown = Object.keys(value).find((key) => !allowed.includes(key));
  if (unknown === undefined) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.replaceAll(joint, "-"), each]));
  }
  throw new RangeError(`${path}: unknown key "${unknown}": did you mean "${nearest(unknown, allowed)}"?`);
}

function at({ path, joint }: Position, key: string): string {
  return `${path}.${key.replaceAll("-", joint)}`;
}

/** Accepts a single value for a list of one. */
function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function listAt<T>(value: unknown, read: (each: unknown) => T): T[] | undefined {
  return value === undefined || value === null ? undefined : listOf(value).map(read);
}
