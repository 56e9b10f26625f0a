import { defaultCodes, type FieldSpec, type FieldType } from "../../src/pgn/spec.ts";
import type { CanboatField, CanboatKey } from "./canboat.ts";
import { fractionOf } from "./fraction.ts";

/** Our types by canboat's; spare bits are reserved bits that are sent as zeros. */
const TYPES: Readonly<Record<string, FieldType | "reserved">> = {
  NUMBER: "number",
  DURATION: "number",
  MMSI: "number",
  FLOAT: "float",
  DECIMAL: "decimal",
  LOOKUP: "enum",
  INDIRECT_LOOKUP: "indirect",
  BITLOOKUP: "bits",
  FIELD_INDEX: "index",
  PGN: "pgn",
  DATE: "date",
  TIME: "time",
  ISO_NAME: "hex",
  STRING_FIX: "text",
  STRING_LAU: "lau",
  STRING_LZ: "lz",
  BINARY: "binary",
  VARIABLE: "variable",
  DYNAMIC_FIELD_KEY: "key",
  DYNAMIC_FIELD_LENGTH: "length",
  DYNAMIC_FIELD_VALUE: "value",
  RESERVED: "reserved",
  SPARE: "reserved",
};

/** Widest integer that a JSON number holds. */
const MAX_NUMBER_BITS = 53;
/** Widest field whose RangeMax, which has 15 digits in canboat.json, gives its highest raw value exactly. */
const MAX_RANGE_BITS = 48;
/** Types with raw values that mean "not available". */
const CODED: ReadonlySet<FieldType> = new Set(["number", "pgn", "enum", "indirect", "date", "time"]);
/** Maximum number of reserved values at the top of a range; a range that ends lower is a physical one. */
const MAX_CODES = 3;
/** Tolerance of RangeMax, in raw values. */
const RANGE_NOISE = 0.01;

/** Converts canboat's camelCase ids to snake_case; digits belong to the letters before them. */
export function snakeCase(id: string): string {
  return id.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "_").toLowerCase();
}

/** True for bits without a meaning. */
export function isReserved(field: CanboatField): boolean {
  return TYPES[field.FieldType] === "reserved";
}

/** The row of a field; `nameOf` returns the names of other fields by their number. */
export function fieldSpec(field: CanboatField, nameOf: (order: number) => string): FieldSpec {
  const { BitLength, BitLengthField, Condition, LookupIndirectEnumerationFieldOrder: indirectBy } = field;
  if (Condition !== undefined && Condition !== "PGNIsProprietary") throw new Error(`unknown condition ${Condition}`);
  const type = typeOf(field);
  const spec: FieldSpec = {};
  if (type !== "reserved") {
    spec.name = snakeCase(field.Id);
    if (type !== "number") spec.type = type;
  }
  if (BitLength !== undefined) spec.bits = BitLength;
  if (field.FieldType === "SPARE") spec.zeros = true;
  if (type !== "reserved") addMeaning(spec, type, field);
  if (BitLengthField !== undefined) spec.by = nameOf(BitLengthField);
  if (indirectBy !== undefined) spec.by = nameOf(indirectBy);
  if (Condition !== undefined) spec.proprietary = true;
  return spec;
}

/** The row of the value after a key. */
export function keySpec(key: CanboatKey): FieldSpec {
  const { name, value, Bits, ...rest } = key;
  const { name: _, ...spec } = fieldSpec(
    { ...rest, Order: value, Id: name, ...(Bits !== undefined && { BitLength: Number(Bits) }) },
    () => name,
  );
  return { name, ...spec };
}

function typeOf({ FieldType, BitLength = 0, Resolution = 1, Signed }: CanboatField): FieldType | "reserved" {
  const type = TYPES[FieldType];
  if (type === undefined) throw new Error(`unknown field type ${FieldType}`);
  const isWide = type === "number" && BitLength > MAX_NUMBER_BITS && Resolution === 1 && !Signed;
  return isWide ? "hex" : type;
}

function addMeaning(spec: FieldSpec, type: FieldType, field: CanboatField): void {
  const isNumber = type === "number" || type === "float";
  const table = field.LookupEnumeration ?? field.LookupBitEnumeration ?? field.LookupIndirectEnumeration ??
    field.LookupFieldTypeEnumeration;
  if (type === "number" || type === "time") addScale(spec, field);
  else if ((field.Resolution ?? 1) !== 1 || field.Offset !== undefined) {
    throw new Error(`${field.Id}: a scale for a field of type ${field.FieldType}`);
  }
  if (isNumber && field.Unit !== undefined) spec.unit = field.Unit;
  if (table !== undefined) spec.table = table;
  if (field.Match !== undefined) spec.match = field.Match;
  const codes = CODED.has(type) ? codesOf(spec, field) : undefined;
  if (codes !== undefined) spec.codes = codes;
  if (type === "text") spec.fill = "@ ";
}

function addScale(spec: FieldSpec, { Id, Resolution = 1, Offset = 0, Signed, RangeMin }: CanboatField): void {
  const { times, per } = fractionOf(Resolution);
  // canboat calls a field signed when its values can be negative: with an offset the raw value is unsigned.
  if (Offset !== 0 && RangeMin !== Offset) throw new Error(`${Id}: its range does not begin at the offset ${Offset}`);
  if (Signed && Offset === 0) spec.signed = true;
  if (times !== 1) spec.times = times;
  const add = Math.round(Offset * per);
  if (add / per !== Offset) throw new Error(`${Id}: the offset ${Offset} is no whole number of steps`);
  if (add !== 0) spec.add = add;
  if (per !== 1) spec.per = per;
}

/** Number of reserved values at the top of canboat's range; undefined for the default of the width. */
function codesOf({ signed, times = 1, add = 0, per = 1 }: FieldSpec, field: CanboatField): number | undefined {
  const { BitLength: bits = 0, RangeMax } = field;
  if (RangeMax === undefined || bits === 0 || bits > MAX_RANGE_BITS) return undefined;
  const top = 2 ** (signed ? bits - 1 : bits) - 1;
  const diff = top - (RangeMax * per - add) / times;
  const codes = Math.round(diff);
  if (Math.abs(diff - codes) > RANGE_NOISE || codes < 0 || codes >= MAX_CODES) return undefined;
  return codes === defaultCodes(bits) ? undefined : codes;
}
