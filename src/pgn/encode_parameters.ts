/** Encoding of parameters of PGN 126208: the inverse of `parameters.ts`. */
import { definitionsOf, type Field, MAX_NUMBER_BITS, widthOf } from "./model.ts";
import { readRaw } from "./field.ts";
import { CommandedPgn, isBound, type NumberedField } from "./parameters.ts";
import { EncodeError, fail, isNothing, isRecord, listed, quote } from "./encode_error.ts";
import { writeField } from "./encode_field.ts";
import { hexDigits } from "./encode_text.ts";
import { BitWriter } from "./bit_writer.ts";

/** A field's number is one byte. */
const MAX_NUMBER = 255;
const SHOWN_NAMES = 12;

/** The PGN whose fields are encoded, and the output. */
export interface Commanded {
  pgn: number;
  fields: CommandedPgn;
  writer: BitWriter;
}

/** Bytes of a field without a name, given as hex. */
function unnamedBytes(field: Field, value: unknown, { path }: { path: string }): Uint8Array {
  const bytes = hexDigits(value, path);
  const width = widthOf(field);
  const whole = width === undefined ? bytes.length : Math.ceil(width / 8);
  if (isNothing(value)) return new Uint8Array(whole).fill(0xff);
  if (bytes.length !== whole) fail(path, `${quote(value)} has ${bytes.length} bytes, the field has ${whole}`);
  return bytes;
}

/** Whether a field extends to the end of the payload: nothing can follow it. */
export function isOpen({ type, bits, by }: Field): boolean {
  return type === "binary" && bits === undefined && by === undefined;
}

/** Throws because something follows a field that extends to the end. */
export function failAfterOpen(path: string): never {
  fail(path, "runs to the end of the payload, so that nothing can follow it");
}

/** Writes the value of one parameter in whole bytes, padded with zeros as in recorded commands. */
export function writeParameter(
  { field, name }: NumberedField,
  value: unknown,
  options: Commanded & {
    number: number;
    path: string;
  },
): void {
  const { fields, writer, number, path } = options;
  if (isBound(field)) fail(path, `${quote(value)} cannot be sent alone`);
  if (field.type === "binary" && field.bits === undefined && field.by !== undefined && !isNothing(value)) {
    fail(path, `${quote(value)} cannot be sent alone, its length is field ${quote(field.by)}`);
  }
  if (name === null) {
    const bytes = unnamedBytes(field, value, { path });
    writer.bytes(bytes);
    const { bits = 0, match } = field;
    if (match !== undefined && bits <= MAX_NUMBER_BITS) {
      fields.restrict(number, readRaw({ payload: bytes, bit: 0 }, { bits }));
    }
    return;
  }
  const raw = writeField(field, value, { writer, path });
  writer.align(0);
  if (raw !== undefined) fields.restrict(number, raw);
}

function namesOf(fields: CommandedPgn): Map<string, number> {
  const names = new Map<string, number>();
  for (let number = 1; number <= MAX_NUMBER; number++) {
    const name = fields.field(number)?.name;
    if (!isNothing(name) && !names.has(name)) names.set(name, number);
  }
  return names;
}

function numberOf({ field, name }: Readonly<Record<string, unknown>>, options: Commanded & { path: string }): number {
  const { pgn, fields, path } = options;
  if (!isNothing(field)) {
    if (typeof field !== "number" || !Number.isInteger(field)) fail(`${path}.field`, `${quote(field)} is not a number`);
    const known = fields.field(field);
    if (known === undefined || field > MAX_NUMBER) fail(`${path}.field`, `PGN ${pgn} has no field ${field}`);
    if (!isNothing(name) && name !== known.name) {
      fail(`${path}.name`, `${quote(name)} is not the name of field ${field}, which is ${quote(known.name)}`);
    }
    return field;
  }
  if (isNothing(name)) fail(path, "has neither field nor name");
  const names = namesOf(fields);
  const number = typeof name === "string" ? names.get(name) : undefined;
  if (number !== undefined) return number;
  fail(`${path}.name`, `PGN ${pgn} has no field ${quote(name)}; it has ${listed(names.keys(), SHOWN_NAMES) || "none"}`);
}

function writeAll(list: readonly unknown[], commanded: Commanded & { path: string }): void {
  for (const [index, each] of list.entries()) {
    const path = `${commanded.path}[${index}]`;
    if (!isRecord(each)) fail(path, `${quote(each)} is not an object`);
    const other = Object.keys(each).find((key) => each[key] !== undefined && !["field", "name", "value"].includes(key));
    if (other !== undefined) {
      throw new EncodeError(`${path} has no field ${quote(other)}; it has field, name, value`, `${path}.${other}`);
    }
    const number = numberOf(each, { ...commanded, path });
    const known = commanded.fields.field(number);
    commanded.writer.raw(number, 8);
    if (known === undefined) continue;
    if (isOpen(known.field) && index < list.length - 1) failAfterOpen(`${path}.value`);
    writeParameter(known, each.value, { ...commanded, number, path: `${path}.value` });
  }
}

/**
 * Writes parameters in sequence: `{field, value}` by number, or `{name, value}`. Like the reader, it uses what
 * the parameters show about the intended layout, and then tries the layouts in order.
 */
export function writeParameters(list: readonly unknown[], options: { pgn: number; path: string }): Uint8Array {
  const { pgn, path } = options;
  const layouts = definitionsOf(pgn);
  if (list.length > 0 && layouts.length === 0) {
    fail(path, `PGN ${pgn} is unknown, so that its fields have no numbers`);
  }
  let refused: EncodeError | undefined;
  for (const meant of [layouts, ...layouts.slice(1).map((layout) => [layout])]) {
    try {
      const writer = new BitWriter();
      writeAll(list, { pgn, fields: new CommandedPgn(pgn, meant), writer, path });
      return writer.take();
    } catch (error) {
      if (!(error instanceof EncodeError)) throw error;
      refused ??= error;
    }
  }
  throw refused;
}
