import { describePgn, type FieldDescription, type ItemDescription, listPgns } from "../pgn/mod.ts";
import { hint } from "../units/mod.ts";

/** `label`: enumerations, texts, and numbers that are codes. */
export type SeriesKind = "number" | "angle" | "label";

/** A field of a PGN whose values form series. */
export interface SeriesField {
  /** As in requests: `128267.depth`. */
  text: string;
  pgn: number;
  /** Key in the decoded payload. */
  name: string;
  kind: SeriesKind;
  unit: string | undefined;
  /** A full turn in the unit of an angle. */
  turn: number;
  /** True for an angle from minus half a turn to half a turn. */
  isSigned: boolean;
  /** Step between two values; undefined if they have none. */
  resolution: number | undefined;
}

/** A field that does not exist or has no series. The message says why, and names a similar one. */
export class SeriesFieldError extends Error {
  override name = "SeriesFieldError";
}

const NUMBERS: ReadonlySet<string> = new Set(["number", "pgn", "index", "length", "float"]);
const CODES: ReadonlySet<string> = new Set([...NUMBERS, "enum", "indirect", "key"]);
/** Fields that distinguish sensors in one device: instances, what a sensor measures, and the vessel that AIS reports. */
const KEY_NAME = /(?:^|_)(?:instance|identifier|reference|source)$|^(?:fluid_type|user_id|mmsi)$/;

/**
 * Finds a field by the text of a request: `PGN.field`. The search for similar names takes time proportional to its length,
 * which the caller limits.
 *
 * @throws {SeriesFieldError} there is no such field, or it is a list
 */
export function findSeriesField(text: string): SeriesField {
  const [, digits = "", name = ""] = /^(\d{1,6})\.(.+)$/.exec(text) ?? [];
  if (digits === "") throw new SeriesFieldError(`expected PGN.field such as 128267.depth, got "${text}"`);
  const pgn = Number(digits);
  const items = itemsOf(pgn);
  if (items.length === 0) {
    const similar = hint(digits, { known: Array.from(listPgns(), (each) => String(each.pgn)) });
    throw new SeriesFieldError(`PGN ${digits} is unknown${similar}; /pgns lists all`);
  }
  const item = items.find((each) => each.name === name);
  if (item === undefined) {
    const similar = hint(name, { known: items.filter((each) => fieldOf(pgn, each)).map((each) => each.name) });
    throw new SeriesFieldError(`PGN ${pgn} has no field "${name}"${similar}; /pgns/${pgn} lists all`);
  }
  const field = fieldOf(pgn, item);
  if (field === undefined) throw new SeriesFieldError(`"${text}" is a list, which has no series`);
  return field;
}

/** All fields of a PGN that have series; none if the PGN is unknown. */
export function seriesFieldsOf(pgn: number): SeriesField[] {
  const names = new Set<string>();
  return itemsOf(pgn).flatMap((item) => {
    const field = names.has(item.name) ? undefined : fieldOf(pgn, item);
    names.add(item.name);
    return field ?? [];
  });
}

const keyFields = new Map<number, readonly string[]>();

/** Names of the fields of a PGN that distinguish sensors in one device. */
export function keyFieldsOf(pgn: number): readonly string[] {
  let names = keyFields.get(pgn);
  if (names === undefined) {
    const found = itemsOf(pgn).filter(({ name, type }) => CODES.has(type) && KEY_NAME.test(name));
    keyFields.set(pgn, names = [...new Set(found.map(({ name }) => name))]);
  }
  return names;
}

function itemsOf(pgn: number): ItemDescription[] {
  return describePgn(pgn)?.layouts.flatMap(({ fields }) => fields) ?? [];
}

function fieldOf(pgn: number, item: ItemDescription): SeriesField | undefined {
  if (item.type === "group" || item.repeat !== undefined || item.type === "parameters") return undefined;
  const { name, unit, min = 0, resolution } = item;
  const kind = kindOf(item);
  return {
    text: `${pgn}.${name}`,
    pgn,
    name,
    kind,
    unit,
    turn: unit === "deg" ? 360 : 2 * Math.PI,
    isSigned: min < 0,
    resolution: kind === "label" || item.type === "float" ? undefined : resolution ?? 1,
  };
}

function kindOf({ type, name, unit, labels, labels_by, bit_labels }: FieldDescription): SeriesKind {
  if (!NUMBERS.has(type) || labels || labels_by || bit_labels) return "label";
  // Longitudes wrap around, latitudes do not.
  return unit === "rad" || unit === "deg" && /longitude/.test(name) ? "angle" : "number";
}
