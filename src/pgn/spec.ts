/**
 * Format of the payload definitions: the generated definitions and the overlay use the same rows.
 * `model.ts` converts them to the model of the decoders and the encoder.
 */

/**
 * Type of a field.
 *
 * | type | decoded as |
 * |---|---|
 * | `number` (default), `pgn`, `index`, `length` | number: `(raw · times + add) / per` |
 * | `float` | number, 32 bits of IEEE 754 |
 * | `enum`, `indirect`, `key` | label of the table, or the raw number where it has none |
 * | `lookup` | `{id, name}`, without `name` where the table has none |
 * | `bits` | list of the labels of the bits that are set, a bit without one as its number |
 * | `text`, `lau`, `lz` | text: fixed width; with leading length and encoding bytes; with leading length and final zero |
 * | `binary` | hex digits, in the order of the bytes |
 * | `hex` | `0x` and 16 hex digits: 64 bits are more than a JSON number holds |
 * | `decimal` | text of decimal digits, two in each byte |
 * | `date`, `time` | ISO 8601 text: from days since 1970-01-01, from (fractions of) seconds since midnight |
 * | `variable`, `value`, `parameters` | by an earlier field: PGN and field number; key; pairs of number and value |
 */
export type FieldType =
  | "number"
  | "pgn"
  | "index"
  | "length"
  | "float"
  | "enum"
  | "indirect"
  | "key"
  | "lookup"
  | "bits"
  | "text"
  | "lau"
  | "lz"
  | "binary"
  | "hex"
  | "decimal"
  | "date"
  | "time"
  | "variable"
  | "value"
  | "parameters";

/** One field of a payload; fields follow each other without gaps. */
export interface FieldSpec {
  /** Key in JSON. Without a name the bits are reserved: not decoded, and sent as ones … */
  name?: string;
  /** … or as zeros. */
  zeros?: true;
  /** Default `number`. */
  type?: FieldType;
  /** Width; not set where the payload contains it. */
  bits?: number;
  /** Whether the value is signed (two's complement). */
  signed?: true;
  /** The value is `(raw · times + add) / per`, with integers, to avoid rounding errors. */
  times?: number;
  add?: number;
  per?: number;
  /** SI unit, or the one in the field's name: `deg`, `%`, `L/h`, `rpm`, `Ah`. */
  unit?: string;
  /** Table of labels. */
  table?: string;
  /** For a number: table of human-readable labels. The decoded value remains the number. */
  label_table?: string;
  /** For a number: table of labels of its bits. */
  bit_table?: string;
  /** For a number: tables of labels by the raw value of another field. */
  indirect_table?: { name: string; by: string };
  /** Raw value that the field must have for this definition to match. */
  match?: number;
  /** How many of the highest raw values mean "not available"; default: by the source of the definition (see `model.ts`). */
  codes?: number;
  /** Additional raw values that mean "not available"; the first is the one that is sent. */
  absent?: number[];
  /** Never null: counts and ids, for which all ones is a valid value. */
  always?: true;
  /** Number of repetitions of the field: a list under `name`. */
  repeat?: number;
  /** Name of one of the repeated fields, before its number: `indicator` for `indicator_3`. */
  each?: string;
  /** Trailing padding characters of a text. */
  fill?: string;
  /** Alternative offset of the text in some software, used when the text is empty here. */
  elsewhere?: { byte: number; bytes: number };
  /** Field whose value decides this one: number of bytes (`binary`: bits), or table row (`indirect`). */
  by?: string;
  /** For `parameters`: the field with their number. */
  count?: string;
  /** Present only when the PGN in an earlier field is proprietary. */
  proprietary?: true;
  /** Number of the field in the standard, where it differs from the position in this list. */
  number?: number;
  /** The fields of the standard that this one combines: PGN 126208 addresses them separately. */
  parts?: FieldSpec[];
  /** Smaller changes, in the field's unit, are insignificant. */
  tolerance?: number;
  /** Why this row differs from canboat's. */
  reason?: string;
}

/** A repeated set of fields: `count` times, or until the payload ends. */
export interface GroupSpec {
  /** Key of the list of objects. */
  group: string;
  /** Field with the number of sets; without it they repeat until the end of the payload. */
  count?: string;
  fields: FieldSpec[];
}

/** A field or a group. */
export type ItemSpec = FieldSpec | GroupSpec;

/** One layout of a PGN. Several layouts of a PGN differ in their `match` fields; the first match is used. */
export interface DefinitionSpec {
  pgn: number;
  /** Id of the layout: canboat's where it has one. */
  id: string;
  description: string;
  /** Payloads with fewer bytes are not decoded; other short payloads are padded with 0xFF. */
  least?: number;
  /** Transmission interval, milliseconds. */
  interval?: number;
  /** Whether every field and width is known. */
  complete?: true;
  /** Why this definition is in the overlay. */
  reason?: string;
  /** Id of the layout that this one replaces, if the id differs. */
  replaces?: string;
  fields: ItemSpec[];
}

/** Labels by raw value. */
export type LabelTable = Readonly<Record<number, string>>;

/** How many of the highest raw values mean "not available" in canboat's definitions, by width. */
export function defaultCodes(bits: number): number {
  if (bits === 1) return 0;
  if (bits < 4) return 1;
  return bits < 8 ? 2 : 3;
}

/** A value in a decoded payload. */
export type DecodedValue =
  | number
  | string
  | null
  | DecodedValue[]
  | { [name: string]: DecodedValue };

/** Decoded fields of a payload by name. */
export type Decoded = { [name: string]: DecodedValue };
