/** Decoding of the parameters of PGN 126208: field numbers of another PGN, each with a value as wide as that field. */
import { type Definition, definitionsOf, type Field, isGroup, type Raw } from "./model.ts";
import { readField } from "./field.ts";
import { hexBytes } from "./read.ts";
import type { DecodedValue, FieldType } from "./spec.ts";

/** All ones: the count is not available. */
const UNKNOWN_COUNT = 255;

/** One parameter. `at` is its first byte, the number of the field; `end` is the byte after it. */
export interface Parameter {
  at: number;
  field: number;
  name: string | null;
  value: DecodedValue;
  end: number;
}

/** A repeated field with its numbered name: the third indicator is `indicator_3`. */
export interface NumberedField {
  field: Field;
  name: string | null;
}

/** True for a proprietary PGN: its payload begins with a manufacturer code. */
export function isProprietary(pgn: number): boolean {
  return pgn === 61184 || pgn === 126720 || (pgn >= 65280 && pgn <= 65535) || (pgn >= 130816 && pgn <= 131071);
}

/** Fields of a definition by number; the fields of repeated sets are numbered consecutively. */
interface Numbered {
  fields: ReadonlyMap<number, NumberedField>;
  sets?: { first: number; fields: readonly Field[] };
}

const numbered = new WeakMap<Definition, Numbered>();

function number({ items }: Definition): Numbered {
  const fields = new Map<number, NumberedField>();
  let next = 1;
  for (const item of items) {
    if (isGroup(item)) return { fields, sets: { first: next, fields: item.fields } };
    next = item.number ?? next;
    const { repeat, each, parts, ...field } = item;
    if (parts !== undefined) {
      for (const part of parts) fields.set(next++, { field: part, name: part.name ?? null });
      continue;
    }
    for (let index = 0; index < (repeat ?? 1); index++) {
      const name = repeat === undefined ? item.name : `${each ?? item.name}_${index + 1}`;
      fields.set(next++, { field, name: name ?? null });
    }
  }
  return { fields };
}

/** The field with a number of the standard: from 1, including reserved ones, sets in sequence. */
function fieldOfNumber(definition: Definition, wanted: number): NumberedField | undefined {
  let known = numbered.get(definition);
  if (known === undefined) numbered.set(definition, known = number(definition));
  const { fields, sets } = known;
  if (sets === undefined || wanted < sets.first) return fields.get(wanted);
  const index = wanted - sets.first;
  const field = sets.fields[index % sets.fields.length];
  const set = 1 + Math.floor(index / sets.fields.length);
  return field && { field, name: field.name === undefined ? null : `${field.name}_${set}` };
}

/** Discriminators of a layout, by the number or name of the field. */
function matchOf(layout: Definition, key: number | string): number | undefined {
  if (typeof key === "number") return fieldOfNumber(layout, key)?.field.match;
  return layout.matches.find(({ field }) => field.name === key)?.field.match;
}

/** The remaining layouts once a discriminator is known. */
interface Narrowed {
  byMatch: ReadonlyMap<number, readonly Definition[]>;
  /** Those without that discriminator. */
  rest: readonly Definition[];
}

/** Cache by the previous layouts and the key of the discriminator. */
const narrowings = new WeakMap<readonly Definition[], Map<number | string, Narrowed>>();

/** The layouts whose discriminator is `raw`, and those without it. */
function narrow(
  layouts: readonly Definition[],
  { key, raw }: { key: number | string; raw: number },
): readonly Definition[] {
  const [only] = layouts;
  if (only && layouts.length === 1) return (matchOf(only, key) ?? raw) === raw ? layouts : [];
  let byKey = narrowings.get(layouts);
  if (byKey === undefined) narrowings.set(layouts, byKey = new Map());
  let known = byKey.get(key);
  if (known === undefined) byKey.set(key, known = narrowedBy(layouts, key));
  return known.byMatch.get(raw) ?? known.rest;
}

function narrowedBy(layouts: readonly Definition[], key: number | string): Narrowed {
  const matches = new Map(layouts.map((layout) => [layout, matchOf(layout, key)]));
  const leftFor = (raw: number | undefined) => layouts.filter((layout) => (matches.get(layout) ?? raw) === raw);
  const matched = new Set([...matches.values()].filter((match) => match !== undefined));
  if (matched.size === 0) return { byMatch: new Map(), rest: layouts };
  return { byMatch: new Map(Array.from(matched, (raw) => [raw, leftFor(raw)])), rest: leftFor(undefined) };
}

/** The commanded PGN. The parameters narrow down its layouts by their discriminators. */
export class CommandedPgn {
  /** The layouts that still match. */
  #layouts: readonly Definition[];

  /** @param layouts candidates; default: all layouts of the PGN */
  constructor(pgn: number, layouts: readonly Definition[] = definitionsOf(pgn)) {
    this.#layouts = layouts;
  }

  /** The field with this number in the first layout that still matches. */
  field(number: number): NumberedField | undefined {
    const [layout] = this.#layouts;
    return layout && fieldOfNumber(layout, number);
  }

  /**
   * Processes a value: excludes the layouts that need another one. The key is a field's number, or its name:
   * PGN 126208 has the manufacturer of a proprietary PGN before the parameters.
   */
  restrict(key: number | string, raw: Raw): void {
    this.#layouts = narrow(this.#layouts, { key, raw: Number(raw) });
  }

  /** The other layouts that still match, after the first one. */
  others(): readonly Definition[] {
    return this.#layouts.slice(1);
  }
}

/** Types of fields whose width depends on preceding fields of their own payload. */
const BOUND: ReadonlySet<FieldType> = new Set(["parameters", "variable", "value"]);

/** Whether the value of a field cannot be a parameter. */
export function isBound({ type }: Field): boolean {
  return BOUND.has(type);
}

/** Reads the parameter at a byte; undefined when there is none with a known field. */
export function readParameter(payload: Uint8Array, at: number, commanded: CommandedPgn): Parameter | undefined {
  const number = payload[at];
  if (number === undefined || at + 1 >= payload.length) return undefined;
  let known = commanded.field(number);
  if (known && (isBound(known.field) || (known.field.type === "binary" && known.field.bits === undefined))) {
    return undefined;
  }
  let read = known && readField(known.field, { payload, bit: (at + 1) * 8 });
  if (read?.raw !== undefined) {
    commanded.restrict(number, read.raw);
    const better = commanded.field(number);
    if (better && better !== known) {
      known = better;
      read = readField(better.field, { payload, bit: (at + 1) * 8 });
    }
  }
  if (known === undefined || read === undefined) return undefined;
  const end = Math.ceil(read.end / 8);
  if (end > payload.length) return undefined;
  const value = known.name === null ? hexBytes(payload, at + 1, end) : read.value;
  return { at, field: number, name: known.name, value, end };
}

/** Position of the parameters and their announced number; 255 means unknown. */
export interface ParameterRun {
  at: number;
  pgn: number;
  count: number;
}

function readAll(payload: Uint8Array, { at, count }: ParameterRun, commanded: CommandedPgn): {
  list: Parameter[];
  isWhole: boolean;
} {
  const list: Parameter[] = [];
  while (list.length < count || count === UNKNOWN_COUNT) {
    const parameter = readParameter(payload, at, commanded);
    if (parameter === undefined) return { list, isWhole: at === payload.length };
    list.push(parameter);
    at = parameter.end;
  }
  return { list, isWhole: true };
}

/**
 * Reads the parameters from a byte on, as far as they are known and complete. The layout of a proprietary PGN may be
 * ambiguous: the first whose widths give the announced number, or end with the payload, is used.
 */
export function readParameters(payload: Uint8Array, run: ParameterRun): readonly Parameter[] {
  const commanded = new CommandedPgn(run.pgn);
  const first = readAll(payload, run, commanded);
  if (!first.isWhole) {
    for (const layout of commanded.others()) {
      const { list, isWhole } = readAll(payload, run, new CommandedPgn(run.pgn, [layout]));
      if (isWhole) return list;
    }
  }
  return first.list;
}

/** Parameters as they are decoded; null when there are none. */
export function parameterList(payload: Uint8Array, run: ParameterRun): DecodedValue {
  return decodedParameters(readParameters(payload, run));
}

/** Parameters as they are decoded; null when there are none. */
export function decodedParameters(parameters: readonly Parameter[]): DecodedValue {
  return parameters.length === 0 ? null : parameters.map(({ field, name, value }) => ({ field, name, value }));
}
