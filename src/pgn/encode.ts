import { type Definition, type Field, type Group, isGroup, type Item, MAX_NUMBER_BITS, type Raw } from "./model.ts";
import { EncodeError, fail, isNothing, isRecord, quote } from "./encode_error.ts";
import { rawOf, standsFor, writeField } from "./encode_field.ts";
import { fieldsOf, layoutFor, unknownNames, valueOf } from "./encode_layout.ts";
import { hexDigits } from "./encode_text.ts";
import { failAfterOpen, isOpen, writeParameter, writeParameters } from "./encode_parameters.ts";
import { CommandedPgn, isProprietary } from "./parameters.ts";
import { inUnit, rawRangeOf } from "./field.ts";
import { BitWriter } from "./bit_writer.ts";

export { EncodeError } from "./encode_error.ts";

/** A value as returned by `decode()`; undefined counts as not given. */
export type FieldValue =
  | number
  | string
  | null
  | undefined
  | readonly FieldValue[]
  | { readonly [name: string]: FieldValue };

/** Fields by name, as returned by `decode()`. */
export type Fields = { readonly [name: string]: FieldValue };

/** Longest payload of ISO transport; a fast packet has at most 223 bytes. */
const MAX_BYTES = 1785;

type Values = Readonly<Record<string, unknown>>;

/** Scope of a field: the payload itself or one set of a group. */
interface Scope {
  values: Values;
  siblings: readonly Item[];
  /** Path of the set, empty for the payload itself. */
  path: string;
}

/** A raw value that is determined by other values. */
interface Implied {
  raw: number;
  /** Error text for a different value: `is not the number of satellites, 3`. */
  mismatch: string;
}

function listIn(values: Values, name: string): readonly unknown[] {
  const list = valueOf(values, name) ?? [];
  if (!Array.isArray(list)) fail(name, `${quote(list)} is not a list`);
  return list;
}

function pathIn({ path }: { path: string }, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** State of encoding a definition: the output, and what later fields need. */
class PayloadEncoder {
  readonly #writer = new BitWriter();
  readonly #definition: Definition;
  readonly #raws = new Map<string, Raw>();
  /** Type of the value after a key, and its width when a length was given. */
  #key: { field: Field | undefined; bytes: number | undefined } | undefined;
  #commanded: { pgn: number; fields: CommandedPgn; writer: BitWriter } | undefined;
  #index = 0;
  /** Path of the field that extends to the end, once it is written. */
  #open: string | undefined;

  constructor(definition: Definition) {
    this.#definition = definition;
  }

  payload(values: Values): Uint8Array<ArrayBuffer> {
    const { items } = this.#definition;
    for (const item of items) {
      if (isGroup(item)) this.#group(item, values);
      else this.#field(item, { values, siblings: items, path: "" });
    }
    this.#expectSpace();
    return this.#writer.take();
  }

  #expectSpace(): void {
    if (this.#writer.bit <= MAX_BYTES * 8) return;
    throw new EncodeError(
      `PGN ${this.#definition.pgn} gets longer than ${MAX_BYTES} bytes, the most a message carries`,
    );
  }

  #group({ group, fields }: Group, values: Values): void {
    for (const [index, set] of listIn(values, group).entries()) {
      const path = `${group}[${index}]`;
      if (!isRecord(set)) fail(path, `${quote(set)} is not an object`);
      const [unknown] = unknownNames(fields, set);
      if (unknown !== undefined) {
        const message = `${path} has no field ${quote(unknown)}; it has ${fieldsOf(fields)}`;
        throw new EncodeError(message, `${path}.${unknown}`);
      }
      for (const field of fields) this.#field(field, { values: set, siblings: fields, path });
      this.#expectSpace();
    }
  }

  #field(field: Field, scope: Scope): void {
    const { name, bits, repeat = 1 } = field;
    const value = name === undefined ? undefined : valueOf(scope.values, name);
    const path = pathIn(scope, name ?? "");
    if (this.#open !== undefined) failAfterOpen(this.#open);
    if (field.proprietary) {
      const pgn = Number(this.#raws.get("pgn") ?? 0);
      if (!isProprietary(pgn)) {
        if (!isNothing(value)) fail(path, `${quote(value)} is only sent for proprietary PGNs, not for ${pgn}`);
        return;
      }
    }
    if (name === undefined && field.match === undefined && bits !== undefined) {
      return this.#writer.fill(bits * repeat, field.zeros ? 0 : 1);
    }
    const raw = this.#write(field, value, { scope, path });
    if (raw !== undefined) this.#remember(field, raw);
  }

  #write(field: Field, value: unknown, { scope, path }: { scope: Scope; path: string }): Raw | undefined {
    switch (field.type) {
      case "parameters":
        return this.#parameters(field, value, { path });
      case "variable":
        return this.#variable(value, path);
      case "value":
        return this.#value(value, path);
    }
    const by = this.#by(field, scope);
    const implied = this.#implied(field, scope);
    if (implied === undefined) return writeField(field, value, { writer: this.#writer, path, by });
    if (!isNothing(value) && !standsFor(field, value, { path, raw: implied.raw })) {
      fail(path, `${quote(value)} ${implied.mismatch}`);
    }
    this.#writer.raw(implied.raw, field.bits ?? 0);
    return implied.raw;
  }

  /** Raw value of the field that decides this one, even if it comes later. */
  #by({ by }: Field, scope: Scope): Raw | undefined {
    if (by === undefined) return undefined;
    const other = scope.siblings.find((item): item is Field => !isGroup(item) && item.name === by);
    return this.#raws.get(by) ?? (other && rawOf(other, valueOf(scope.values, by), { path: pathIn(scope, by) }));
  }

  /** The raw value of discriminators, counts and lengths. */
  #implied(field: Field, scope: Scope): Implied | undefined {
    const { name, match } = field;
    const { values, siblings } = scope;
    if (match !== undefined) {
      const shown = quote(field.labels?.byCode.get(match) ?? match);
      return { raw: match, mismatch: `is not ${shown}, which makes a payload ${this.#definition.id}` };
    }
    if (name === undefined) return undefined;
    const at = siblings.indexOf(field);
    for (const [index, item] of siblings.entries()) {
      if (isGroup(item)) {
        if (item.count === name) return this.#counted(field, item.group, scope);
      } else if (item.type === "parameters" && index === at + 1 && item.name !== undefined) {
        return this.#counted(field, item.name, scope);
      } else if (item.type === "binary" && item.by === name) {
        return this.#bitsOf(field, item, scope);
      } else if (item.type === "value" && field.type === "length" && isNothing(valueOf(values, name))) {
        const value = item.name ?? "";
        return { raw: this.#bytesOf(field, valueOf(values, value), { path: pathIn(scope, value) }), mismatch: "" };
      }
    }
    return undefined;
  }

  #counted(field: Field, what: string, { values }: Scope): Implied {
    const { max } = rawRangeOf(field);
    const count = listIn(values, what).length;
    if (count > max) fail(what, `${count} are given, at most ${max} can be counted`);
    return { raw: count, mismatch: `is not the number of ${what}, ${count}` };
  }

  /** Number of bits of a byte sequence: as given, if it has that many bytes. */
  #bitsOf(field: Field, binary: Field, scope: Scope): Implied {
    const { name = "" } = field;
    const run = binary.name ?? "";
    const bytes = hexDigits(valueOf(scope.values, run), pathIn(scope, run)).length;
    const { max } = rawRangeOf(field);
    const most = Math.floor(Number(max) / 8);
    if (bytes > most) fail(pathIn(scope, run), `${bytes} bytes are given, at most ${most} can be counted`);
    const given = valueOf(scope.values, name);
    const raw = isNothing(given) ? bytes * 8 : Number(rawOf(field, given, { path: pathIn(scope, name) }));
    const whole = Math.ceil(raw / 8) === bytes;
    return { raw: whole ? raw : bytes * 8, mismatch: `is not the length of ${run}, ${inUnit(field, bytes * 8)}` };
  }

  /** Number of bytes of the value after a key. */
  #bytesOf(length: Field, value: unknown, { path }: { path: string }): number {
    const { bits } = this.#key?.field ?? {};
    const bytes = bits === undefined ? hexDigits(value, path).length : Math.ceil(bits / 8);
    const { max } = rawRangeOf(length);
    if (bytes > max) fail(path, `${bytes} bytes are given, at most ${max} can be counted`);
    return bytes;
  }

  #remember(field: Field, raw: Raw): void {
    const { name } = field;
    if (name !== undefined) this.#raws.set(name, raw);
    if (field.type === "pgn") {
      this.#commanded = { pgn: Number(raw), fields: new CommandedPgn(Number(raw)), writer: this.#writer };
    }
    if (field.proprietary && name !== undefined) this.#commanded?.fields.restrict(name, raw);
    if (field.type === "index") this.#index = Number(raw);
    if (field.type === "key") this.#key = { field: field.keys?.get(Number(raw)), bytes: undefined };
    if (field.type === "length" && this.#key) this.#key.bytes = Number(raw);
  }

  #parameters(field: Field, value: unknown, { path }: { path: string }): undefined {
    if (isNothing(value)) return;
    if (!Array.isArray(value)) fail(path, `${quote(value)} is not a list`);
    const pgn = Number(this.#raws.get(field.by ?? "") ?? 0);
    this.#writer.align();
    this.#writer.bytes(writeParameters(value, { pgn, path }));
  }

  /** Writes the value of the parameter whose number was written last; hex digits for an unknown one. */
  #variable(value: unknown, path: string): undefined {
    const known = this.#commanded?.fields.field(this.#index);
    if (known === undefined || isOpen(known.field)) this.#open = path;
    if (this.#commanded && known) {
      return void writeParameter(known, value, { ...this.#commanded, number: this.#index, path });
    }
    this.#writer.bytes(hexDigits(value, path));
  }

  /** Writes the value after a key: by the key's type, or hex digits if that is unknown or does not fit the length. */
  #value(value: unknown, path: string): undefined {
    const { field, bytes } = this.#key ?? { field: undefined, bytes: undefined };
    const writer = this.#writer;
    const bits = bytes === undefined ? field?.bits : bytes * 8;
    if (field?.bits !== undefined && bits !== undefined && field.bits <= bits) {
      writeField(field, value, { writer, path });
      writer.fill(bits - field.bits);
      return;
    }
    if (field?.type === "number" && bits !== undefined && bits > 0 && bits <= MAX_NUMBER_BITS) {
      const narrow: Field = { ...field, bits, nulls: [], blank: 2 ** bits - 1 };
      writeField(narrow, value, { writer, path });
      return;
    }
    if (bits === undefined) this.#open = path;
    const run = hexDigits(value, path);
    if (bits !== undefined && !isNothing(value) && run.length * 8 !== bits) {
      fail(path, `${quote(value)} has ${run.length} bytes, its length says ${bits / 8}`);
    }
    writer.bytes(run);
    if (isNothing(value)) writer.fill(bits ?? 0);
  }
}

/**
 * Encodes fields, as returned by `decode()`, into the payload of a message. In SI units (positions in degrees); labels may
 * be given as their numbers.
 *
 * Missing and null fields are sent as "not available", reserved bits as ones. Discriminators, counts and lengths are
 * filled in; when they are given, they must agree. Numbers are rounded to the resolution of their field; values are never
 * truncated or clamped to a range.
 *
 * @param options `layout`: id of the definition; without it one whose discriminators agree and which has every given
 * field, of several the one that fills in the fewest discriminators, then one of which every field is given, then the
 * first
 * @throws EncodeError the PGN is unknown, no layout has these fields, or a value cannot be sent
 *
 * @example
 * ```ts
 * import { encode } from "@vessel/gateway/pgn";
 *
 * const wind = encode(130306, { wind_speed: 5.5, wind_angle: 1.2345, wind_reference: "apparent" });
 * console.assert(wind.toHex() === "ff26023930faffff");
 * ```
 */
export function encode(pgn: number, fields: Fields, options: { layout?: string } = {}): Uint8Array<ArrayBuffer> {
  if (!isRecord(fields)) throw new EncodeError(`${quote(fields)} is not an object of fields`);
  return new PayloadEncoder(layoutFor(pgn, fields, options)).payload(fields);
}
