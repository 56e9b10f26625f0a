/** Encoding of one field: the inverse of `field.ts`. */
import { type Field, MAX_NUMBER_BITS, type Raw } from "./model.ts";
import { fail, isNothing, isRecord, listed, quote } from "./encode_error.ts";
import { numberRaw } from "./encode_number.ts";
import { decimalBytes, hexDigits, textBytes } from "./encode_text.ts";
import { isNull, rawRangeOf } from "./field.ts";
import { isoDate, isoTime } from "./read.ts";
import type { BitWriter } from "./bit_writer.ts";

const SHOWN_LABELS = 6;
const DAY_MS = 86_400_000;

/** Context of a value. */
export interface Context {
  /** Path of the field, for errors. */
  path: string;
  /** For `indirect`: raw value of the field that selects the table. */
  by?: Raw | undefined;
}

/** Labels of a field by their codes, ascending. */
function labelsOf(field: Field, by: Raw | undefined): ReadonlyMap<number, string> {
  if (field.type === "key") return new Map(Array.from(field.keys ?? [], ([code, { name = "" }]) => [code, name]));
  const labels = field.type === "indirect" ? field.indirect?.get(Number(by)) : field.labels;
  return labels?.byCode ?? new Map();
}

/** Code of a label; the lowest one if several codes have it. */
function codeOf(field: Field, label: string, { by }: { by?: Raw | undefined }): number | undefined {
  if (field.labels) return field.labels.byLabel.get(label);
  for (const [code, each] of labelsOf(field, by)) if (each === label) return code;
  return undefined;
}

function codeRaw(field: Field, value: unknown, { path, by }: Context): number {
  const { min, max } = rawRangeOf(field);
  const isCode = (code: number) => Number.isInteger(code) && code >= min && code <= max && !isNull(field, code);
  const code = typeof value === "string" ? codeOf(field, value, { by }) : value;
  if (typeof code === "number" && isCode(code)) return code;
  const labels = labelsOf(field, by).entries().filter(([code]) => isCode(code)).map(([, label]) => label);
  const names = listed(labels, SHOWN_LABELS);
  const numbers = `no number from ${min} to ${max}`;
  fail(path, `${quote(value)} is ${names === "" ? numbers : `none of ${names} and ${numbers}`}`);
}

function lookupRaw(field: Field, value: unknown, { path }: Context): number {
  if (!isRecord(value)) return codeRaw(field, value, { path });
  const { id, name } = value;
  if (isNothing(id) && isNothing(name)) fail(path, "has neither id nor name");
  const code = codeRaw(field, isNothing(id) ? name : id, { path });
  const known = field.labels?.byCode.get(code);
  if (!isNothing(name) && name !== known) {
    fail(path, `${quote(name)} is not the name of ${code}${known === undefined ? "" : `, which is ${quote(known)}`}`);
  }
  return code;
}

function bitsRaw(field: Field, value: unknown, context: Context): Raw {
  const { bits = 0, labels } = field;
  const { path } = context;
  if (labels === undefined) return numberRaw(field, value, context);
  if (!Array.isArray(value)) fail(path, `${quote(value)} is not a list of bits`);
  let raw = 0n;
  for (const [index, each] of value.entries()) {
    const bit = typeof each === "string" ? labels.byLabel.get(each) : each;
    if (typeof bit !== "number" || !Number.isInteger(bit) || bit < 0 || bit >= bits) {
      const inside = labels.byCode.entries().filter(([code]) => code < bits).map(([, label]) => label);
      const names = listed(inside, SHOWN_LABELS);
      fail(`${path}[${index}]`, `${quote(each)} is none of ${names} and no bit from 0 to ${bits - 1}`);
    }
    raw |= 1n << BigInt(bit);
  }
  return bits > MAX_NUMBER_BITS ? raw : Number(raw);
}

function hexRaw(field: Field, value: unknown, { path }: Context): Raw {
  const { bits = 0 } = field;
  const digits = typeof value === "string" ? /^(?:0x)?([0-9a-f]{1,16})$/i.exec(value)?.[1] : undefined;
  if (digits === undefined) fail(path, `${quote(value)} is not a number of 1 to 16 hex digits`);
  const wide = BigInt(`0x${digits}`);
  if (wide >> BigInt(bits) !== 0n) fail(path, `${quote(value)} has more than ${bits} bits`);
  const raw = bits > MAX_NUMBER_BITS ? wide : Number(wide);
  if (field.nulls.includes(raw)) fail(path, `${quote(value)} means "not available"`);
  return raw;
}

/** Checks that a raw value is within the range of its field; the texts show the limits in the error. */
function withinRange(field: Field, raw: number, options: { path: string; value: unknown; show: (raw: Raw) => string }) {
  const { min, max } = rawRangeOf(field);
  const { path, value, show } = options;
  if (raw < min || raw > max) fail(path, `${quote(value)} is outside ${show(min)} to ${show(max)}`);
  if (isNull(field, raw)) fail(path, `${quote(value)} means "not available"`);
  return raw;
}

function dateRaw(field: Field, value: unknown, { path }: Context): number {
  const days = typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value)
    ? Date.parse(`${value}T00:00:00Z`) / DAY_MS
    : NaN;
  // February 30 would be parsed as March 2.
  if (!Number.isInteger(days) || isoDate(days) !== value) fail(path, `${quote(value)} is not a date like 2026-08-16`);
  return withinRange(field, days, { path, value, show: (raw) => isoDate(Number(raw)) });
}

function timeRaw(field: Field, value: unknown, { path }: Context): number {
  const parts = typeof value === "string" ? /^(-?)(\d{2,9}):([0-5]\d):([0-5]\d(?:\.\d+)?)$/.exec(value) : null;
  if (parts === null) fail(path, `${quote(value)} is not a time like 14:03:59.5`);
  const [, sign, hours, minutes, seconds] = parts;
  const size = (Number(hours) * 3600 + Number(minutes) * 60) * field.per + Math.round(Number(seconds) * field.per);
  const raw = Math.round((sign === "-" ? -size : size) / field.times);
  return withinRange(field, raw, { path, value, show: (raw) => isoTime(Number(raw) * field.times, field.per) });
}

const floats = new DataView(new ArrayBuffer(4));
const MAX_FLOAT = 3.4028234663852886e38;

function floatRaw(field: Field, value: unknown, { path }: Context): number {
  if (typeof value !== "number" || Number.isNaN(value)) fail(path, `${quote(value)} is not a number`);
  if (Math.abs(Math.fround(value)) > MAX_FLOAT) {
    const unit = field.unit === undefined ? "" : ` ${field.unit}`;
    fail(path, `${quote(value)} is outside -3.4028235e+38 to 3.4028235e+38${unit}`);
  }
  floats.setFloat32(0, value);
  return floats.getUint32(0);
}

/** Raw value of a field that has one; null and undefined mean "not available". */
export function rawOf(field: Field, value: unknown, context: Context): Raw {
  if (isNothing(value)) return field.blank;
  switch (field.type) {
    case "enum":
    case "indirect":
    case "key":
      return codeRaw(field, value, context);
    case "lookup":
      return lookupRaw(field, value, context);
    case "bits":
      return bitsRaw(field, value, context);
    case "hex":
      return hexRaw(field, value, context);
    case "date":
      return dateRaw(field, value, context);
    case "time":
      return timeRaw(field, value, context);
    case "float":
      return floatRaw(field, value, context);
    default:
      return numberRaw(field, value, context);
  }
}

/** Whether a value stands for this raw value; a label of several raw values stands for each. */
export function standsFor(field: Field, value: unknown, { raw, ...context }: Context & { raw: number }): boolean {
  return field.labels?.byCode.get(raw) === value || rawOf(field, value, context) === raw;
}

/** Hex digits as `hexBits` shows them: byte by byte, the last one perhaps not whole; what is missing is ones. */
function writeBinary(field: Field, value: unknown, { path, writer }: Context & { writer: BitWriter }): void {
  const bytes = hexDigits(value, path);
  const { bits = bytes.length * 8 } = field;
  if (bytes.length > Math.ceil(bits / 8)) {
    const [has, most] = [bytes.length, Math.ceil(bits / 8)];
    fail(path, `${quote(value)} has ${has} bytes, at most ${most} fit`);
  }
  let left = bits;
  for (const byte of bytes) {
    const taken = Math.min(8, left);
    if (byte >= 2 ** taken) fail(path, `${quote(value)} has more than ${bits} bits`);
    writer.raw(byte, taken);
    left -= taken;
  }
  writer.fill(left);
}

function writeRepeated(field: Field, value: unknown, options: Context & { writer: BitWriter; repeat: number }): void {
  const { bits = 0 } = field;
  const { path, writer, repeat } = options;
  const list: unknown = value ?? [];
  if (!Array.isArray(list)) fail(path, `${quote(value)} is not a list`);
  if (list.length > repeat) fail(path, `${list.length} values are given, at most ${repeat} fit`);
  for (const [index, each] of list.entries()) writer.raw(rawOf(field, each, { path: `${path}[${index}]` }), bits);
  writer.fill((repeat - list.length) * bits);
}

/**
 * Writes a field of any type, except those that need other definitions (`variable`, `value`, `parameters`).
 *
 * @returns its raw value, when it has one
 */
export function writeField(field: Field, value: unknown, options: Context & { writer: BitWriter }): Raw | undefined {
  const { writer } = options;
  switch (field.type) {
    case "text":
    case "lau":
    case "lz":
      writer.bytes(textBytes(field, value, options));
      return undefined;
    case "binary":
      writeBinary(field, value, options);
      return undefined;
    case "decimal":
      writer.bytes(decimalBytes(field, value, options));
      return undefined;
  }
  const { bits = 0, repeat } = field;
  if (repeat !== undefined) {
    writeRepeated(field, value, { ...options, repeat });
    return undefined;
  }
  const raw = rawOf(field, value, options);
  writer.raw(raw, bits);
  return raw;
}
