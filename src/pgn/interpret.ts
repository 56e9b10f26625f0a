/**
 * Decodes by interpreting a definition field by field. Slower than the compiled decoders and independent of them: tests
 * compare both. Definitions whose fields have the types of another PGN's fields (126208) are decoded here.
 */
import { type Definition, definitionsOf, type Field, type Group, isGroup, type Raw } from "./model.ts";
import { type BitPosition, type ReadField, readField, readKeyed, readRaw } from "./field.ts";
import { CommandedPgn, isProprietary, parameterList, readParameter } from "./parameters.ts";
import { hexBytes } from "./read.ts";
import type { Decoded, DecodedValue } from "./spec.ts";

/** Raw values that later fields refer to, by name. */
type Raws = Map<string, Raw>;

/** Position in a payload, and data of earlier fields that later ones need. */
class Interpreter {
  readonly #payload: Uint8Array;
  bit = 0;
  /** Type of the value after the last key, and its width if a length was read. */
  #key: { field: Field | undefined; bytes: number | undefined } | undefined;
  #commanded: CommandedPgn | undefined;

  constructor(payload: Uint8Array) {
    this.#payload = payload;
  }

  get #bits(): number {
    return this.#payload.length * 8;
  }

  /** Reads a field into `record`. */
  field(field: Field, record: Decoded, raws: Raws): void {
    if (field.proprietary && !isProprietary(Number(raws.get("pgn") ?? 0))) return;
    const { value, raw, end } = this.#read(field, raws);
    this.bit = end;
    const { name } = field;
    if (raw !== undefined) this.#remember(field, raw, raws);
    if (name !== undefined) record[name] = value;
  }

  #read(field: Field, raws: Raws): ReadField {
    const position: BitPosition = { payload: this.#payload, bit: this.bit };
    switch (field.type) {
      case "parameters":
        return {
          value: parameterList(this.#payload, {
            at: Math.ceil(this.bit / 8),
            pgn: Number(raws.get(field.by ?? "") ?? 0),
            count: Number(raws.get(field.count ?? "") ?? 0),
          }),
          end: this.#bits,
        };
      case "variable":
        return this.#variable();
      case "value":
        return this.#value();
      default:
        return readField(field, position, field.by === undefined ? undefined : raws.get(field.by));
    }
  }

  #remember(field: Field, raw: Raw, raws: Raws): void {
    if (field.name !== undefined) raws.set(field.name, raw);
    if (field.type === "pgn") this.#commanded = new CommandedPgn(Number(raw));
    if (field.proprietary && field.name !== undefined) this.#commanded?.restrict(field.name, raw);
    if (field.type === "key") this.#key = { field: field.keys?.get(Number(raw)), bytes: undefined };
    if (field.type === "length" && this.#key) this.#key.bytes = Number(raw);
  }

  /** The value of a parameter; the byte before it is the parameter's number. */
  #variable(): ReadField {
    const at = this.bit / 8;
    const parameter = this.#commanded && readParameter(this.#payload, at - 1, this.#commanded);
    if (parameter) return { value: parameter.value, end: parameter.end * 8 };
    const rest = hexBytes(this.#payload, at, this.#payload.length);
    return { value: rest === "" ? null : rest, end: this.#bits };
  }

  #value(): ReadField {
    const { field, bytes } = this.#key ?? { field: undefined, bytes: undefined };
    return readKeyed(field, { payload: this.#payload, bit: this.bit }, bytes);
  }

  /** Reads the complete sets of a group. */
  group({ group, count, fields, partial }: Group, record: Decoded, raws: Raws): void {
    const most = count === undefined ? Infinity : Number(raws.get(count) ?? 0);
    const list: DecodedValue[] = [];
    while (list.length < most && this.bit < this.#bits) {
      const start = this.bit;
      const set: Decoded = {};
      for (const field of fields) this.field(field, set, raws);
      if ((this.bit > this.#bits && !partial) || this.bit === start) {
        this.bit = start;
        break;
      }
      list.push(set);
    }
    if (list.length > 0) record[group] = list;
  }
}

/** True when the payload has the discriminators of this definition. */
export function matchesPayload({ matches }: Definition, payload: Uint8Array): boolean {
  return matches.every(({ bit, field }) =>
    readRaw({ payload, bit }, { bits: field.bits ?? 0, signed: field.signed }) === field.match
  );
}

/** Decodes a payload by one definition. */
export function interpretBy({ items }: Definition, payload: Uint8Array): Decoded {
  const interpreter = new Interpreter(payload);
  const record: Decoded = {};
  const raws: Raws = new Map();
  for (const item of items) {
    if (isGroup(item)) interpreter.group(item, record, raws);
    else interpreter.field(item, record, raws);
  }
  return record;
}

/** Decodes a payload; undefined when no definition of the PGN matches. */
export function interpret(pgn: number, payload: Uint8Array): Decoded | undefined {
  const definition = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
  return definition === undefined || payload.length < definition.least ? undefined : interpretBy(definition, payload);
}
