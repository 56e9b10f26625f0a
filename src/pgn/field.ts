/** Decoding of one field by interpreting its description, and its range; the compiled decoders are tested against it. */
import { type Field, MAX_NUMBER_BITS, type Raw } from "./model.ts";
import {
  bitLabels,
  decimalText,
  fixedText,
  float32,
  hexBits,
  hexBytes,
  hexNumber,
  isoDate,
  isoTime,
  lauEnd,
  lauText,
  lookedUp,
  lzEnd,
  lzText,
} from "./read.ts";
import type { DecodedValue, FieldType } from "./spec.ts";

const HALF = 2 ** 32;

/** A bit in a payload; bytes beyond the end read as 0xFF. */
export interface BitPosition {
  payload: Uint8Array;
  bit: number;
}

function unsigned({ payload, bit }: BitPosition, bits: number): number {
  let value = 0;
  let weight = 1;
  while (bits > 0) {
    const skipped = bit & 7;
    const taken = Math.min(bits, 8 - skipped);
    value += (((payload[bit >>> 3] ?? 0xff) >>> skipped) & (2 ** taken - 1)) * weight;
    weight *= 2 ** taken;
    bit += taken;
    bits -= taken;
  }
  return value;
}

/** Raw value of a number of bits, lowest bit first. */
export function readRaw(position: BitPosition, { bits, signed }: { bits: number; signed?: boolean | undefined }): Raw {
  if (bits <= MAX_NUMBER_BITS) {
    const raw = unsigned(position, bits);
    return signed && raw >= 2 ** (bits - 1) ? raw - 2 ** bits : raw;
  }
  const high = unsigned({ payload: position.payload, bit: position.bit + 32 }, bits - 32);
  const raw = (BigInt(high) << 32n) | BigInt(unsigned(position, 32));
  return signed ? BigInt.asIntN(bits, raw) : raw;
}

function labelled(field: Field, raw: number, by: Raw | undefined): DecodedValue {
  const labels = field.type === "indirect" ? field.indirect?.get(Number(by)) : field.labels;
  return labels?.byCode.get(raw) ?? raw;
}

/** Decoded value of a raw value. `by`: for an indirect table, the raw value of the field that selects it. */
function meaningOf(field: Field, raw: Raw, by?: Raw): DecodedValue {
  if (field.nulls.includes(raw)) return null;
  const number = Number(raw);
  switch (field.type) {
    case "enum":
    case "indirect":
      return labelled(field, number, by);
    case "lookup":
      return { ...lookedUp(field.labels, number) };
    case "key":
      return field.keys?.get(number)?.name ?? number;
    case "bits":
      return field.labels ? bitLabels(field.labels, number % HALF, Math.floor(number / HALF)) : number;
    case "hex":
      return hexNumber(Number(BigInt(raw) & 0xffff_ffffn), Number((BigInt(raw) >> 32n) & 0xffff_ffffn));
    case "date":
      return isoDate(number);
    case "time":
      return isoTime(number * field.times, field.per);
    case "float":
      return float32(number);
    default:
      return inUnit(field, number);
  }
}

/** Where a part of a decoded payload is. */
export interface FieldSpan {
  /** Key in the decoded object; in lists with the index: `satellites.0.prn`. */
  name: string;
  /** First bit: 0 is the lowest bit of byte 0. */
  bit: number;
  /** Number of bits. */
  bits: number;
}

/** A decoded field, and the bit after it. */
export interface ReadField {
  value: DecodedValue;
  /** Raw value, for fields that have one. */
  raw?: Raw;
  end: number;
  /** Positions of its items, or where else it was read; default: all bits up to the end. Names are relative to the field. */
  spans?: readonly FieldSpan[];
}

/** How bytes of a text that are not UTF-8 are decoded. */
export function invalidBytesOf(field: Field): "latin1" | "lossy" {
  return field.origin === "overlay" ? "lossy" : "latin1";
}

function readText(field: Field, { payload, bit }: BitPosition): ReadField {
  const at = bit >>> 3;
  const invalid = invalidBytesOf(field);
  if (field.type === "lau") {
    return {
      value: lauText(payload, at, payload.length, { fill: field.fill, invalid }),
      end: lauEnd(payload, at, payload.length) * 8,
    };
  }
  if (field.type === "lz") {
    const stop = field.bits === undefined ? payload.length : Math.min(payload.length, at + field.bits / 8);
    const value = lzText(payload, at, stop, invalid);
    return { value, end: field.bits === undefined ? lzEnd(payload, at, stop) * 8 : bit + field.bits };
  }
  const bytes = (field.bits ?? 0) / 8;
  const { fill, elsewhere } = field;
  const value = fixedText(payload, at, Math.min(payload.length, at + bytes), { fill, invalid });
  const end = bit + bytes * 8;
  if (value !== "" || !elsewhere) return { value, end };
  const { byte } = elsewhere;
  const other = fixedText(payload, byte, Math.min(payload.length, byte + elsewhere.bytes), { fill, invalid });
  return {
    value: other,
    end,
    ...(other !== "" && { spans: [{ name: "", bit: byte * 8, bits: elsewhere.bytes * 8 }] }),
  };
}

function readBinary(field: Field, { payload, bit }: BitPosition, by: Raw | undefined): ReadField {
  const left = Math.max(0, payload.length * 8 - bit);
  const bits = field.bits ?? (field.by === undefined ? left : Math.min(left, Math.ceil(Number(by ?? 0) / 8) * 8));
  if ((bit | bits) & 7) {
    return { value: bit >>> 3 >= payload.length ? null : hexBits(payload, bit, bits), end: bit + bits };
  }
  const value = hexBytes(payload, bit >>> 3, Math.min(payload.length, (bit + bits) >>> 3));
  return { value: value === "" ? null : value, end: bit + bits };
}

/** Reads a field of any type, except those that need other definitions (`variable`, `value`, `parameters`). */
export function readField(field: Field, position: BitPosition, by?: Raw): ReadField {
  const { bit, payload } = position;
  switch (field.type) {
    case "text":
    case "lau":
    case "lz":
      return readText(field, position);
    case "binary":
      return readBinary(field, position, by);
    case "decimal": {
      const end = bit + (field.bits ?? 0);
      return { value: decimalText(payload, bit >>> 3, Math.min(payload.length, end >>> 3)), end };
    }
  }
  const { bits = 0, signed, repeat } = field;
  if (repeat === undefined) {
    const raw = readRaw(position, { bits, signed });
    const other = field.byBits === undefined ? by : readRaw({ payload, bit: field.byBits.bit }, field.byBits);
    const isBeyond = field.nullBeyond && bit >>> 3 >= payload.length;
    return { value: isBeyond ? null : meaningOf(field, raw, other), raw, end: bit + bits };
  }
  const spans = Array.from({ length: repeat }, (_, index) => ({ name: `${index}`, bit: bit + index * bits, bits }));
  const value = spans.map(({ bit }) => meaningOf(field, readRaw({ payload, bit }, { bits, signed })));
  return { value, end: bit + bits * repeat, spans };
}

/**
 * Reads the value after a key. Its width is the length in the payload (`bytes`), else that of the key's type, else the
 * rest. It is decoded by the key's type if it is wide enough; a narrower number as a number; anything else as hex digits.
 */
export function readKeyed(field: Field | undefined, position: BitPosition, bytes: number | undefined): ReadField {
  const { payload, bit } = position;
  const left = Math.max(0, payload.length * 8 - bit);
  const bits = Math.min(left, bytes === undefined ? field?.bits ?? left : bytes * 8);
  const end = bit + bits;
  if (field?.bits !== undefined && field.bits <= bits) return { value: readField(field, position).value, end };
  if (field?.type === "number" && bits > 0 && bits <= MAX_NUMBER_BITS) {
    const raw = readRaw(position, { bits, signed: field.signed });
    return { value: inUnit(field, raw), end };
  }
  return { value: hexBytes(payload, bit >>> 3, end >>> 3) || null, end };
}

const NUMBERS: ReadonlySet<FieldType> = new Set(["number", "pgn", "index", "length"]);

/** Whether a raw value within the range is decoded as null. */
export function isNull({ nulls, signed }: Field, raw: Raw): boolean {
  // −1 is a value in the standard; it is null here because all ones mean "not available".
  return nulls.includes(raw) && !(signed && Number(raw) === -1);
}

/** Smallest and largest raw value that can be sent, without the codes of "not available". */
export function rawRangeOf(field: Field): { min: Raw; max: Raw } {
  const { bits = 0, signed } = field;
  const [low, high] = signed ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n];
  const raw = (value: bigint): Raw => bits > MAX_NUMBER_BITS ? value : Number(value);
  let [min, max] = [low, high];
  while (max > low && isNull(field, raw(max))) max--;
  while (min < max && isNull(field, raw(min))) min++;
  return { min: raw(min), max: raw(max) };
}

/** Converts a raw value to the unit of its field. */
export function inUnit({ times, add, per }: Field, raw: Raw): number {
  return (Number(raw) * times + add) / per;
}

/** Range of a number in its unit, without the values that mean "not available"; undefined for other fields. */
export function rangeOf(field: Field): { min: number; max: number } | undefined {
  if (field.bits === undefined || !NUMBERS.has(field.type)) return undefined;
  const { min, max } = rawRangeOf(field);
  return { min: inUnit(field, min), max: inUnit(field, max) };
}
