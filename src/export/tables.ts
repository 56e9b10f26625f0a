/** The tables of an export: which columns there are, and of which type. */
import { decodesAlways, describePgn, type FieldDescription, type ItemDescription, tableName } from "../pgn/mod.ts";

/**
 * Type of a column. `time`: microseconds since 1970. `long`: whole numbers up to 2^53. `text`: also labels, and as JSON what is
 * a list or an object.
 */
export type ColumnType = "time" | "int" | "long" | "double" | "text";

/** A column. */
export interface Column {
  /** Unique in its table. */
  name: string;
  /** Type of all cells. */
  type: ColumnType;
  /** Whether a cell may be empty. */
  isOptional: boolean;
}

/** A column with a field of decoded payloads. */
export interface FieldColumn extends Column {
  /** Type of all cells. */
  type: "int" | "double" | "text";
  /** Key in the decoded payload. */
  key: string;
  /** Decimal places of all values; undefined: any number. */
  places: number | undefined;
}

/** The columns of a table after {@linkcode HEAD_COLUMNS}. */
export interface Table {
  /** Name of its file, without the ending. */
  name: string;
  /** Columns of decoded payloads. */
  fields: readonly FieldColumn[];
  /** Whether the last column is `data`, the payload in hex: of all messages without fields, else of those without definition. */
  hasData: boolean;
}

/** The first columns of every table. */
export const HEAD_COLUMNS = [
  { name: "time", type: "time", isOptional: false },
  { name: "bus", type: "text", isOptional: true },
  { name: "src", type: "int", isOptional: false },
  { name: "dst", type: "int", isOptional: false },
  { name: "prio", type: "int", isOptional: false },
  { name: "name", type: "text", isOptional: true },
  { name: "pgn", type: "int", isOptional: false },
  { name: "seq", type: "long", isOptional: true },
] as const satisfies readonly Column[];

/** The last column, with the payload. */
const DATA = "data";

/** The table of all messages, with their payloads. */
export const MESSAGES: Table = { name: "messages", fields: [], hasData: true };

const TAKEN: ReadonlySet<string> = new Set([...HEAD_COLUMNS.map(({ name }) => name), DATA]);
const INTEGERS: ReadonlySet<string> = new Set(["number", "pgn", "index", "length"]);
const [MIN_INT, MAX_INT] = [-(2 ** 31), 2 ** 31 - 1];
/** Finer values than 10^-9 are written in as many digits as they need. */
const MAX_PLACES = 9;
const NOISE = 1e-9;

/** All columns of a table, in order. */
export function columnsOf({ fields, hasData }: Table): Column[] {
  return [
    ...HEAD_COLUMNS,
    ...fields,
    ...hasData ? [{ name: DATA, type: "text", isOptional: fields.length > 0 } as const] : [],
  ];
}

/** The table of a PGN: a column for each field of its layouts. That of a PGN without definition has payloads only. */
export function tableOf(pgn: number): Table {
  const description = describePgn(pgn);
  const fields = new Map<string, FieldColumn>();
  for (const item of description?.layouts.flatMap(({ fields }) => fields) ?? []) {
    const column = columnOf(item);
    const known = fields.get(item.name);
    fields.set(item.name, known ? merged(known, column) : column);
  }
  return { name: tableName(pgn), fields: [...fields.values()], hasData: !decodesAlways(pgn) };
}

function columnOf(item: ItemDescription): FieldColumn {
  const { name } = item;
  const column = { name: TAKEN.has(name) ? `field_${name}` : name, key: name, isOptional: true };
  if (item.type === "group" || item.repeat !== undefined) return { ...column, type: "text", places: undefined };
  if (item.type === "float") return { ...column, type: "double", places: undefined };
  if (!INTEGERS.has(item.type)) return { ...column, type: "text", places: undefined };
  const places = placesOf(item);
  return { ...column, type: places === 0 && isSmall(item) ? "int" : "double", places };
}

/** Decimal places of a number by its step; undefined: more than {@linkcode MAX_PLACES}. */
function placesOf({ resolution = 1 }: FieldDescription): number | undefined {
  for (let places = 0, scaled = resolution; places <= MAX_PLACES; places++, scaled *= 10) {
    if (scaled >= 1 - NOISE && Math.abs(scaled - Math.round(scaled)) < NOISE) return places;
  }
  return undefined;
}

/** Whether all values fit into 32 bits with a sign. A field with one possible value has no range. */
function isSmall({ min, max, bits = Infinity }: FieldDescription): boolean {
  if (min === undefined || max === undefined) return bits < 32;
  return Number.isInteger(min) && Number.isInteger(max) && min >= MIN_INT && max <= MAX_INT;
}

/** The column of a field that several layouts have. */
function merged(one: FieldColumn, other: FieldColumn): FieldColumn {
  if (one.type === "text" || other.type === "text") return { ...one, type: "text", places: undefined };
  const places = one.places === undefined || other.places === undefined
    ? undefined
    : Math.max(one.places, other.places);
  return { ...one, type: one.type === "int" && other.type === "int" ? "int" : "double", places };
}
