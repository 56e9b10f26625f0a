/**
 * Decodes by interpreting a definition field by field. Slower than the compiled decoders and independent of them: tests
 * compare both. Definitions whose fields have the types of another PGN's fields (126208) are decoded here.
 */
import { type Definition, definitionsOf, type Field, type Group, isGroup, type Raw } from "./model.ts";
import { type BitPosition, type FieldSpan, type ReadField, readField, readKeyed, readRaw } from "./field.ts";
import { CommandedPgn, decodedParameters, isProprietary, readParameter, readParameters } from "./parameters.ts";
import { hexBytes } from "./read.ts";
import type { Decoded, DecodedValue } from "./spec.ts";

/** Raw values that later fields refer to, by name. */
type Raws = Map<string, Raw>;

/** Position in a payload, and data of earlier fields that later ones need. */
class Interpreter {
  readonly #payload: Uint8Array;
  /** Where decoded values are; undefined: not wanted. */
  readonly #spans: FieldSpan[] | undefined;
  /** Beginning of the names of spans: the list and the index of the set that is read. */
  #prefix = "";
  bit = 0;
  /** Type of the value after the last key, and its width if a length was read. */
  #key: { field: Field | undefined; bytes: number | undefined } | undefined;
  #commanded: CommandedPgn | undefined;

  constructor(payload: Uint8Array, spans?: FieldSpan[]) {
    this.#payload = payload;
    this.#spans = spans;
  }

  get #bits(): number {
    return this.#payload.length * 8;
  }

  /** Reads a field into `record`. */
  field(field: Field, record: Decoded, raws: Raws): void {
    if (field.proprietary && !isProprietary(Number(raws.get("pgn") ?? 0))) return;
    const read = this.#read(field, raws);
    const { value, raw, end } = read;
    const { name } = field;
    if (name !== undefined) this.#note(name, read);
    this.bit = end;
    if (raw !== undefined) this.#remember(field, raw, raws);
    if (name !== undefined) record[name] = value;
  }

  /** Notes where a field is, as far as the payload goes. */
  #note(name: string, { end, spans = [{ name: "", bit: this.bit, bits: end - this.bit }] }: ReadField): void {
    for (const span of spans) {
      const bits = Math.min(span.bits, this.#bits - span.bit);
      const path = this.#prefix + (span.name === "" ? name : `${name}.${span.name}`);
      if (bits > 0) this.#spans?.push({ name: path, bit: span.bit, bits });
    }
  }

  #read(field: Field, raws: Raws): ReadField {
    const position: BitPosition = { payload: this.#payload, bit: this.bit };
    switch (field.type) {
      case "parameters": {
        const parameters = readParameters(this.#payload, {
          at: Math.ceil(this.bit / 8),
          pgn: Number(raws.get(field.by ?? "") ?? 0),
          count: Number(raws.get(field.count ?? "") ?? 0),
        });
        const spans = parameters.flatMap(({ at, end }, index) => [
          { name: `${index}.field`, bit: at * 8, bits: 8 },
          { name: `${index}.value`, bit: (at + 1) * 8, bits: (end - at - 1) * 8 },
        ]);
        return { value: decodedParameters(parameters), end: this.#bits, spans };
      }
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
    const spans = this.#spans;
    while (list.length < most && this.bit < this.#bits) {
      const start = this.bit;
      const known = spans?.length ?? 0;
      this.#prefix = `${group}.${list.length}.`;
      const set: Decoded = {};
      for (const field of fields) this.field(field, set, raws);
      if ((this.bit > this.#bits && !partial) || this.bit === start) {
        this.bit = start;
        spans?.splice(known);
        break;
      }
      list.push(set);
    }
    this.#prefix = "";
    if (list.length > 0) record[group] = list;
  }
}

/** True when the payload has the discriminators of this definition. */
export function matchesPayload({ matches }: Definition, payload: Uint8Array): boolean {
  return matches.every(({ bit, field }) =>
    readRaw({ payload, bit }, { bits: field.bits ?? 0, signed: field.signed }) === field.match
  );
}

/** Decodes a payload by one definition. `spans` receives where the values are. */
export function interpretBy({ items }: Definition, payload: Uint8Array, spans?: FieldSpan[]): Decoded {
  const interpreter = new Interpreter(payload, spans);
  const record: Decoded = {};
  const raws: Raws = new Map();
  for (const item of items) {
    if (isGroup(item)) interpreter.group(item, record, raws);
    else interpreter.field(item, record, raws);
  }
  return record;
}

/** The definition that decodes a payload; undefined when none matches. */
function definitionFor(pgn: number, payload: Uint8Array): Definition | undefined {
  const definition = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
  return definition === undefined || payload.length < definition.least ? undefined : definition;
}

/** Decodes a payload; undefined when no definition of the PGN matches. */
export function interpret(pgn: number, payload: Uint8Array): Decoded | undefined {
  const definition = definitionFor(pgn, payload);
  return definition && interpretBy(definition, payload);
}

/**
 * Where the decoded values of a payload are, in the order of its fields; values beyond its end are omitted. Empty when no
 * definition of the PGN matches.
 */
export function spansOfPayload(pgn: number, payload: Uint8Array): FieldSpan[] {
  const spans: FieldSpan[] = [];
  const definition = definitionFor(pgn, payload);
  if (definition) interpretBy(definition, payload, spans);
  return spans;
}
