/** Parameters of PGN 126208: numbers of fields of another PGN, each with a value as wide as that field. */
import { type Definition, definitionsOf, type Field, isGroup, type Raw } from "./model.ts";
import { readField } from "./field.ts";
import { hexBytes } from "./read.ts";
import type { DecodedValue } from "./value.ts";

/** One parameter. `end` is the byte after it. */
export interface Parameter {
  field: number;
  name: string | null;
  value: DecodedValue;
  end: number;
}

/** A field with the name that its number gives it: the third indicator is `indicator_3`. */
export interface NumberedField {
  field: Field;
  name: string | null;
}

/** True for PGNs whose payloads begin with a manufacturer code. */
export function isProprietary(pgn: number): boolean {
  return pgn === 61184 || pgn === 126720 || (pgn >= 65280 && pgn <= 65535) || (pgn >= 130816 && pgn <= 131071);
}

/** Fields of a definition by their number; those of its sets are numbered on and on. */
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

/** The field that the standard numbers so: from 1, reserved ones counted, sets one after the other. */
export function fieldOfNumber(definition: Definition, wanted: number): NumberedField | undefined {
  let known = numbered.get(definition);
  if (known === undefined) numbered.set(definition, known = number(definition));
  const { fields, sets } = known;
  if (sets === undefined || wanted < sets.first) return fields.get(wanted);
  const index = wanted - sets.first;
  const field = sets.fields[index % sets.fields.length];
  const set = 1 + Math.floor(index / sets.fields.length);
  return field && { field, name: field.name === undefined ? null : `${field.name}_${set}` };
}

/** The PGN that is commanded: which of its layouts is meant shows as the parameters tell its discriminators. */
export class CommandedPgn {
  #layouts: readonly Definition[];

  constructor(pgn: number) {
    this.#layouts = definitionsOf(pgn);
  }

  /** The field of this number, in the first layout that can still be meant. */
  field(number: number): NumberedField | undefined {
    const [layout] = this.#layouts;
    return layout && fieldOfNumber(layout, number);
  }

  /** Takes note of a value: layouts that need another one are not meant. */
  note(number: number, raw: Raw): void {
    this.#keep((layout) => fieldOfNumber(layout, number)?.field.match, raw);
  }

  /** The same, by the field's name: PGN 126208 tells the manufacturer of a proprietary PGN in front. */
  noteNamed(name: string, raw: Raw): void {
    this.#keep(({ matches }) => matches.find(({ field }) => field.name === name)?.field.match, raw);
  }

  #keep(matchOf: (layout: Definition) => number | undefined, raw: Raw): void {
    if (this.#layouts.length < 2) return;
    this.#layouts = this.#layouts.filter((layout) => {
      const match = matchOf(layout);
      return match === undefined || match === Number(raw);
    });
  }
}

/** Reads the parameter at a byte; undefined when there is none whose field is known. */
export function readParameter(payload: Uint8Array, at: number, commanded: CommandedPgn): Parameter | undefined {
  const number = payload[at];
  if (number === undefined || at + 1 >= payload.length) return undefined;
  const known = commanded.field(number);
  if (known === undefined) return undefined;
  const { value, raw, end: bit } = readField(known.field, { payload, bit: (at + 1) * 8 });
  const end = Math.ceil(bit / 8);
  if (end > payload.length) return undefined;
  if (raw !== undefined) commanded.note(number, raw);
  const shown = known.name === null ? hexBytes(payload, at + 1, end) : value;
  return { field: number, name: known.name, value: shown, end };
}

/** The parameters from a byte to the end of the payload, as far as they are known and whole; null when none is. */
export function parameterList(payload: Uint8Array, at: number, pgn: number): DecodedValue {
  const commanded = new CommandedPgn(pgn);
  const list: DecodedValue[] = [];
  for (;;) {
    const parameter = readParameter(payload, at, commanded);
    if (parameter === undefined) return list.length === 0 ? null : list;
    const { field, name, value } = parameter;
    list.push({ field, name, value });
    at = parameter.end;
  }
}
