/**
 * Compiles definitions to functions: per PGN one that selects the layout, and one per layout, compiled at its first
 * payload. Layouts with fields of variable type are interpreted instead.
 */
import { type Definition, definitionsOf, type Field, type Group, isGroup, MAX_NUMBER_BITS, widthOf } from "./model.ts";
import { readKeyed } from "./field.ts";
import { interpretBy } from "./interpret.ts";
import { parameterList } from "./parameters.ts";
import * as read from "./read.ts";
import type { Decoded, DecodedValue } from "./spec.ts";
import { CodeWriter, type Constants, unsignedAt } from "./generate.ts";

/** A compiled decoder; returns undefined when no layout of the PGN matches the payload. */
type Decoder = (payload: Uint8Array) => Decoded | undefined;

const scratch = new Uint8Array(4096);

/** The payload followed by 0xFF, `bytes` long; valid until the next call. */
function padded(payload: Uint8Array, bytes: number): Uint8Array {
  const target = bytes <= scratch.length ? scratch.subarray(0, bytes) : new Uint8Array(bytes);
  target.set(payload);
  return target.fill(0xff, payload.length);
}

type FieldReader = (payload: Uint8Array, at: number) => DecodedValue;

/** Compiled readers of values after keys. */
const readers = new WeakMap<Field, FieldReader>();

/** The value after a key, and the byte after the value; see `readKeyed`. */
function keyed(key: Field | undefined, payload: Uint8Array, where: {
  at: number;
  n: number;
  bytes: number | undefined;
}): { value: DecodedValue; end: number } {
  const { at, n, bytes } = where;
  const bits = key?.bits;
  const end = at + (bytes ?? (bits ?? 0) / 8);
  if (key && bits !== undefined && bits <= (end - at) * 8 && end <= n) {
    let reader = readers.get(key);
    if (reader === undefined) readers.set(key, reader = compileField(key));
    return { value: reader(payload, at), end };
  }
  const { value, end: bit } = readKeyed(key, { payload: payload.subarray(0, n), bit: at * 8 }, bytes);
  return { value, end: bit / 8 };
}

const helpers = { ...read, padded, keyed, parameterList };

/** Compiles a function that reads one field of whole bytes at any byte. */
function compileField(field: Field): FieldReader {
  const constants: Constants = [];
  const body = new CodeWriter(constants).single(field);
  return new Function("h", "k", `"use strict";return function(d,at){\n${body}\n}`)(helpers, constants);
}

/** Types that depend on the payload: layouts with them are interpreted, not compiled. */
const INTERPRETED_TYPES: ReadonlySet<string> = new Set(["variable"]);

function isInterpreted({ items }: Definition): boolean {
  const sets = items.filter((item): item is Group => isGroup(item));
  if (sets.some(({ fields }) => fields.reduce((bits, field) => bits + (widthOf(field) ?? 0), 0) % 8 !== 0)) return true;
  const fields = items.flatMap((item) => isGroup(item) ? item.fields : [item]);
  return fields.some(({ type, proprietary, bits = 0 }) =>
    INTERPRETED_TYPES.has(type) || proprietary === true || (bits > MAX_NUMBER_BITS && bits < 64 && type === "number")
  );
}

function condition({ bit, field }: Definition["matches"][number]): string {
  return `(${unsignedAt("", bit, field.bits ?? 0)})===${field.match}`;
}

/** Body of the function of a PGN: a switch over the first discriminator if all layouts have the same, else in order. */
function dispatch(definitions: readonly Definition[]): string {
  const calls = definitions.map((definition, index) => {
    const call = definition.least > 0 ? `n<${definition.least}?undefined:f${index}(d,n)` : `f${index}(d,n)`;
    const test = definition.matches.map(condition).join("&&");
    return { first: definition.matches[0], text: test === "" ? `return ${call};` : `if(${test})return ${call};` };
  });
  const first = calls[0]?.first;
  const shared = first &&
    calls.every((call) => call.first?.bit === first.bit && call.first.field.bits === first.field.bits);
  if (!first || !shared || calls.length < 4) return calls.map(({ text }) => text).join("\n");
  const cases = Map.groupBy(calls, ({ first }) => first?.field.match);
  const body = [...cases].map(([match, group]) =>
    `case ${match}:\n${group.map(({ text }) => text).join("\n")}\nbreak;`
  );
  return `switch(${unsignedAt("", first.bit, first.field.bits ?? 0)}){\n${body.join("\n")}\n}`;
}

/** Decodes the first `bytes` bytes of `payload`, which is padded with 0xFF, by one layout. */
type LayoutDecoder = (payload: Uint8Array, bytes: number) => Decoded;

function compileLayout(definition: Definition): LayoutDecoder {
  if (isInterpreted(definition)) return (payload, bytes) => interpretBy(definition, payload.subarray(0, bytes));
  const constants: Constants = [];
  const body = new CodeWriter(constants).body(definition.items);
  return new Function("h", "k", `"use strict";return function(d,n){\n${body}\n}`)(helpers, constants);
}

/** Compiles the decoder of one layout, which is given payloads that match it. Undefined: the payload is too short. */
export function layoutDecoder(definition: Definition): Decoder {
  const decodeLayout = compileLayout(definition);
  const bytes = Math.ceil(definition.fixedBits / 8);
  return (payload) => {
    const { length } = payload;
    if (length < definition.least) return undefined;
    return decodeLayout(length < bytes ? padded(payload, bytes) : payload, length);
  };
}

/** Compiles the selection of a layout of one PGN; each layout is compiled at its first payload. */
function compile(definitions: readonly Definition[]): Decoder {
  const layouts = definitions.map((_, index) => `let f${index}=(d,n)=>(f${index}=c(${index}))(d,n);`);
  const bytes = Math.max(1, ...definitions.map(({ fixedBits }) => Math.ceil(fixedBits / 8)));
  const source = `"use strict";
${layouts.join("\n")}
return (d)=>{
const n=d.length;
if(n<${bytes})d=h.padded(d,${bytes});
${dispatch(definitions)}
return undefined;
};`;
  const compiled = (index: number) => {
    const definition = definitions[index];
    if (definition === undefined) throw new Error(`no layout ${index}`);
    return compileLayout(definition);
  };
  return new Function("h", "c", source)(helpers, compiled);
}

const decoders = new Map<number, Decoder | undefined>();

/**
 * Decodes the payload of a message into its fields, in SI units (positions in degrees).
 *
 * A payload shorter than its definition is padded with 0xFF, so that missing fields are null. The decoder of a PGN is
 * compiled at its first message.
 *
 * @returns undefined when no definition matches: an unknown PGN, or an unknown manufacturer's layout of a proprietary one
 *
 * @example
 * ```ts
 * import { decode } from "@vessel/gateway/pgn";
 *
 * const wind = Uint8Array.of(0x01, 0x26, 0x02, 0x39, 0x30, 0x02, 0xff, 0xff);
 * console.assert(decode(130306, wind)?.wind_speed === 5.5); // m/s
 * console.assert(decode(130306, wind)?.wind_reference === "apparent");
 * ```
 */
export function decode(pgn: number, payload: Uint8Array): Decoded | undefined {
  let decoder = decoders.get(pgn);
  if (decoder === undefined) {
    const definitions = definitionsOf(pgn);
    if (definitions.length === 0) return undefined;
    decoders.set(pgn, decoder = compile(definitions));
  }
  return decoder(payload);
}
