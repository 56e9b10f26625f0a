/**
 * The rows that describe payloads, as data: the generated definitions and the overlay are written in the same ones.
 * `model.ts` turns them into what the decoders and the encoder work with.
 */

/**
 * What the bits of a field say.
 *
 * | type | decoded as |
 * |---|---|
 * | `number` (when left out), `pgn`, `index`, `length` | number: `(raw · times + add) / per` |
 * | `float` | number, 32 bits of IEEE 754 |
 * | `enum`, `indirect`, `key` | label of the table, or the raw number where it has none |
 * | `lookup` | `{id, name}`, without `name` where the table has none |
 * | `bits` | list of the labels of the bits that are set, a bit without one as its number |
 * | `text`, `lau`, `lz` | text: of fixed width; length + encoding byte first; length byte first, zero at the end |
 * | `binary` | hex digits, in the order of the bytes |
 * | `hex` | `0x` and 16 hex digits: 64 bits are more than a JSON number holds |
 * | `decimal` | text of decimal digits, two in each byte |
 * | `date`, `time` | ISO 8601 text: from days since 1970-01-01, from (fractions of) seconds since midnight |
 * | `variable`, `value`, `parameters` | by what an earlier field says: PGN and field number; key; pairs of number and value |
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
  /** Key in JSON. Without one the bits are reserved: never shown, and sent as ones … */
  name?: string;
  /** … or as zeros. */
  zeros?: true;
  /** Left out: `number`. */
  type?: FieldType;
  /** Width; left out where the payload itself tells it. */
  bits?: number;
  /** Two's complement. */
  signed?: true;
  /** The value is `(raw · times + add) / per`: integers, so that it carries no rounding noise. */
  times?: number;
  add?: number;
  per?: number;
  /** SI unit, or the one that the field's name says: `deg`, `%`, `L/h`, `rpm`, `Ah`. */
  unit?: string;
  /** Table of labels. */
  table?: string;
  /** Of a number: table of labels for people. It is decoded as the number all the same. */
  label_table?: string;
  /** Of a number: table of labels of its bits. */
  bit_table?: string;
  /** Of a number: tables of labels by the raw value of another field. */
  indirect_table?: { name: string; by: string };
  /** Raw value that the field must have, or else the payload is of another definition. */
  match?: number;
  /** How many of the highest raw values mean "not available"; left out: what its source says (see `model.ts`). */
  codes?: number;
  /** Further raw values that mean "not available"; the first is the one that is sent. */
  absent?: number[];
  /** Never null: counts and ids, where all ones is a value too. */
  always?: true;
  /** The same field so many times over: a list under `name`. */
  repeat?: number;
  /** Name of one of the repeated fields, before its number: `indicator` for `indicator_3`. */
  each?: string;
  /** Trailing characters that only fill up a text. */
  fill?: string;
  /** Where else some software puts this text, when nothing stands here. */
  elsewhere?: { byte: number; bytes: number };
  /** Field whose value says how many bytes (`binary`, in bits), or which table row (`indirect`), decides this one. */
  by?: string;
  /** For `parameters`: the field that says how many there are. */
  count?: string;
  /** There only when the PGN named by an earlier field is a proprietary one. */
  proprietary?: true;
  /** Number of the field in the standard, where it is not its position in this list. */
  number?: number;
  /** The standard's fields that this one puts together: PGN 126208 speaks of them one by one. */
  parts?: FieldSpec[];
  /** A change of less than this, in the field's unit, is not worth telling. */
  tolerance?: number;
  /** Why this row is not as canboat has it. */
  why?: string;
}

/** Fields that come as a set, as often as `count` says or until the payload ends. */
export interface GroupSpec {
  /** Key of the list of objects. */
  group: string;
  /** Field that says how many sets there are; without one they run to the end. */
  count?: string;
  fields: FieldSpec[];
}

/** A field or a group. */
export type ItemSpec = FieldSpec | GroupSpec;

/** One layout of a PGN; several share a PGN when their `match` fields differ, the first that fits wins. */
export interface DefinitionSpec {
  pgn: number;
  /** Name of the layout, canboat's where it has one. */
  id: string;
  description: string;
  /** Fewer bytes than this give no decoded result; otherwise short payloads are filled up with 0xFF. */
  least?: number;
  /** Milliseconds between two messages of a device. */
  interval?: number;
  /** Every field and width is known. */
  complete?: true;
  /** Why this definition stands in the overlay. */
  why?: string;
  /** Id of the layout that this one stands for, where it got another name. */
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
