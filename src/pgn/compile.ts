/**
 * Turns definitions into functions: for each PGN one that chooses the layout, and one for each layout, made when the
 * first payload of it comes. Layouts that only the payload can tell field by field are walked instead.
 */
import { type Definition, type Field, type Group, isGroup, MAX_NUMBER_BITS, widthOf } from "./model.ts";
import { readKeyed } from "./field.ts";
import { interpretBy } from "./interpret.ts";
import { parameterList } from "./parameters.ts";
import * as read from "./read.ts";
import type { Decoded, DecodedValue } from "./value.ts";
import { type Constants, unsignedAt, Writer } from "./generate.ts";

/** A compiled decoder; undefined when no layout of the PGN fits the payload. */
export type Decoder = (payload: Uint8Array) => Decoded | undefined;

const scratch = new Uint8Array(4096);

/** The payload followed by 0xFF, `bytes` long; valid until the next call. */
function padded(payload: Uint8Array, bytes: number): Uint8Array {
  const target = bytes <= scratch.length ? scratch.subarray(0, bytes) : new Uint8Array(bytes);
  target.set(payload);
  return target.fill(0xff, payload.length);
}

type FieldReader = (payload: Uint8Array, at: number) => DecodedValue;

/** Readers of the fields that keys announce, made when they are met. */
const readers = new WeakMap<Field, FieldReader>();

/** The value after a key and the byte behind it; see `readKeyed`. */
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

/** A function that reads one field of whole bytes at any byte. */
function compileField(field: Field): FieldReader {
  const constants: Constants = [];
  const body = new Writer(constants).single(field);
  return new Function("h", "k", `"use strict";return function(d,at){\n${body}\n}`)(helpers, constants);
}

/** Types whose width or meaning only the payload tells, field by field: these layouts are walked, not compiled. */
const WALKED: ReadonlySet<string> = new Set(["variable"]);

function isWalked({ items }: Definition): boolean {
  const sets = items.filter((item): item is Group => isGroup(item));
  if (sets.some(({ fields }) => fields.reduce((bits, field) => bits + (widthOf(field) ?? 0), 0) % 8 !== 0)) return true;
  const fields = items.flatMap((item) => isGroup(item) ? item.fields : [item]);
  return fields.some(({ type, proprietary, bits = 0 }) =>
    WALKED.has(type) || proprietary === true || (bits > MAX_NUMBER_BITS && bits < 64 && type === "number")
  );
}

function condition({ bit, field }: Definition["matches"][number]): string {
  return `(${unsignedAt("", bit, field.bits ?? 0)})===${field.match}`;
}

/** Body of the function of a PGN: layouts by their first discriminator where all have the same, then in order. */
function dispatch(definitions: readonly Definition[]): string {
  const calls = definitions.map((definition, index) => {
    const call = definition.least > 0 ? `n<${definition.least}?undefined:f${index}(d,n)` : `f${index}(d,n)`;
    const test = definition.matches.map(condition).join("&&");
    return { first: definition.matches[0], text: test === "" ? `return ${call};` : `if(${test})return ${call};` };
  });
  const place = calls[0]?.first;
  const shared = place && calls.every(({ first }) => first?.bit === place.bit && first.field.bits === place.field.bits);
  if (!place || !shared || calls.length < 4) return calls.map(({ text }) => text).join("\n");
  const cases = Map.groupBy(calls, ({ first }) => first?.field.match);
  const body = [...cases].map(([match, group]) =>
    `case ${match}:\n${group.map(({ text }) => text).join("\n")}\nbreak;`
  );
  return `switch(${unsignedAt("", place.bit, place.field.bits ?? 0)}){\n${body.join("\n")}\n}`;
}

/** Decodes by one layout the payload that the first bytes of `payload` are, filled up with 0xFF. */
type LayoutDecoder = (payload: Uint8Array, bytes: number) => Decoded;

function compileLayout(definition: Definition): LayoutDecoder {
  if (isWalked(definition)) return (payload, bytes) => interpretBy(definition, payload.subarray(0, bytes));
  const constants: Constants = [];
  const body = new Writer(constants).body(definition.items);
  return new Function("h", "k", `"use strict";return function(d,n){\n${body}\n}`)(helpers, constants);
}

/** Compiles the choice among the layouts of one PGN, in the order in which they are tried; each layout when it is met. */
export function compile(definitions: readonly Definition[]): Decoder {
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
