/** Descriptions of PGNs for APIs and command line: names, units, ranges, labels. */
import { framingOf } from "./numbers.ts";
import { matchesPayload } from "./interpret.ts";
import { type Definition, definitionsOf, type Field, isGroup, type Item, knownPgns } from "./model.ts";
import type { Framing } from "./overlay.ts";
import { isProprietary } from "./parameters.ts";
import { rangeOf } from "./field.ts";
import type { Decoded, FieldType } from "./spec.ts";
import { type Labels, labelsOf } from "../units/mod.ts";

/** Name of a message of a proprietary PGN without a known layout. */
const PROPRIETARY = "Proprietary";

/** A PGN in the list of all. */
export interface PgnSummary {
  /** Its number. */
  pgn: number;
  /** Human-readable name; of several layouts the common part. */
  description: string;
  /** Framing of its messages. */
  framing: Framing;
  /** Transmission interval, milliseconds, if the standard has one. */
  interval_ms?: number;
  /** Number of layouts. */
  layouts: number;
}

/** Description of a PGN. */
export interface PgnDescription extends Omit<PgnSummary, "layouts"> {
  /** In order of precedence: the first layout whose `matches` hold is used. */
  layouts: LayoutDescription[];
}

/** One layout of a PGN's payload. */
export interface LayoutDescription {
  /** Name for programs. */
  id: string;
  /** Human-readable name. */
  description: string;
  /** Values that a payload must contain to match this layout. */
  matches?: MatchDescription[];
  /** Whether every field and width is known. */
  complete: boolean;
  /** In the order of the payload, without reserved bits. */
  fields: ItemDescription[];
}

/** Bits and the value they must have. */
export interface MatchDescription {
  /** Name of the field; undefined when it is not decoded. */
  name?: string;
  /** First bit, from the beginning of the payload. */
  bit: number;
  /** Number of bits. */
  bits: number;
  /** Their value. */
  value: number;
  /** Label of the value. */
  label?: string;
}

/** A field of a decoded payload. */
export interface FieldDescription {
  /** Key in the decoded object. */
  name: string;
  /** Type of the value. */
  type: FieldType;
  /** SI unit, or the one in the field's name. */
  unit?: string;
  /** Width of one value; omitted where the payload contains it. */
  bits?: number;
  /** Smallest value that can be sent. */
  min?: number;
  /** Largest value that can be sent. */
  max?: number;
  /** Step between two values; omitted for 1. */
  resolution?: number;
  /** Labels by raw value, also of numbers that are codes; a field with one possible value has only its label. */
  labels?: Record<string, string>;
  /** Name of the field that determines this one. */
  by?: string;
  /** Labels by the raw value of that field. */
  labels_by?: Record<string, Record<string, string>>;
  /** Of a number: labels of its bits, by bit number from 0. */
  bit_labels?: Record<string, string>;
  /** Of a key: units of the values that follow, by the raw value of the key. */
  key_units?: Record<string, string>;
  /** Smaller changes are insignificant. */
  tolerance?: number;
  /** The value is a list of this length. */
  repeat?: number;
}

/** A list of objects in a decoded payload. */
export interface GroupDescription {
  /** Key in the decoded object. */
  name: string;
  /** Distinguishes a group from a field. */
  type: "group";
  /** Name of the field with the number of objects; omitted: they repeat until the end of the payload. */
  count?: string;
  /** Fields of each object. */
  fields: FieldDescription[];
}

/** A field or a list of objects. */
export type ItemDescription = FieldDescription | GroupDescription;

/** All PGNs with a known layout, ascending. */
export function* listPgns(): Generator<PgnSummary> {
  for (const pgn of knownPgns()) {
    const layouts = definitionsOf(pgn);
    yield { ...headOf(pgn, layouts), layouts: layouts.length };
  }
}

/** Description of a PGN; undefined when no layout is known. */
export function describePgn(pgn: number): PgnDescription | undefined {
  const layouts = definitionsOf(pgn);
  return layouts.length === 0 ? undefined : { ...headOf(pgn, layouts), layouts: layouts.map(describeLayout) };
}

/** Whether every payload of a PGN can be decoded, of any content and length. */
export function decodesAlways(pgn: number): boolean {
  return definitionsOf(pgn).some(({ matches, least }) => matches.length === 0 && least === 0);
}

/** Name of a message: of its layout, or of its PGN when no layout matches; undefined for an unknown PGN. */
export function describePayload(pgn: number, payload: Uint8Array): string | undefined {
  const layouts = definitionsOf(pgn);
  if (layouts.length === 0) return undefined;
  const layout = layouts.find((each) => matchesPayload(each, payload));
  return layout?.description ?? (isProprietary(pgn) ? PROPRIETARY : nameOf(pgn, layouts));
}

const fieldsByLayout = new WeakMap<Definition, ReadonlyMap<string, ItemDescription>>();

/** Descriptions of the fields of a payload, by name; undefined when no layout matches. */
export function fieldsOfPayload(pgn: number, payload: Uint8Array): ReadonlyMap<string, ItemDescription> | undefined {
  const layout = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
  if (layout === undefined) return undefined;
  let fields = fieldsByLayout.get(layout);
  if (fields === undefined) {
    fields = new Map(describeLayout(layout).fields.map((field) => [field.name, field]));
    fieldsByLayout.set(layout, fields);
  }
  return fields;
}

/** Labels of the numbers in a payload, by the name of the field; undefined when no number has a label. */
export function labelsOfPayload(pgn: number, payload: Uint8Array, decoded: Decoded): Labels | undefined {
  const fields = fieldsOfPayload(pgn, payload);
  return fields && labelsOf(decoded, fields);
}

function headOf(pgn: number, layouts: readonly Definition[]): Omit<PgnSummary, "layouts"> {
  const interval = layouts.find((layout) => layout.interval !== undefined)?.interval;
  return {
    pgn,
    description: nameOf(pgn, layouts),
    framing: framingOf(pgn),
    ...(interval !== undefined && { interval_ms: interval }),
  };
}

/**
 * Common name of the layouts of a PGN. Layouts of a proprietary PGN have nothing in common; others are variants that differ
 * in the last part of their name: `NMEA group function: request`.
 */
function nameOf(pgn: number, layouts: readonly Definition[]): string {
  const [first = "", ...others] = new Set(layouts.map(({ description }) => description));
  if (others.length === 0) return first;
  return isProprietary(pgn) ? PROPRIETARY : first.replace(/(?:: | - )(?:(?!: | - ).)*$/, "");
}

function describeLayout({ id, description, matches, complete, items }: Definition): LayoutDescription {
  return {
    id,
    description,
    ...(matches.length > 0 && { matches: matches.flatMap(describeMatch) }),
    complete: complete === true,
    fields: items.flatMap((item) => describeItem(item)),
  };
}

function describeMatch({ bit, field }: Definition["matches"][number]): MatchDescription[] {
  const { name, bits, match, labels } = field;
  if (bits === undefined || match === undefined) return [];
  const label = labels?.byCode.get(match);
  return [{ ...(name !== undefined && { name }), bit, bits, value: match, ...(label !== undefined && { label }) }];
}

function describeItem(item: Item): ItemDescription[] {
  if (!isGroup(item)) return describeField(item);
  const { group, count, fields } = item;
  return [{
    name: group,
    type: "group",
    ...(count !== undefined && { count }),
    fields: fields.flatMap(describeField),
  }];
}

/** A field without a name is reserved and never shown. */
function describeField(field: Field): FieldDescription[] {
  const { name, type, unit, bits, displayLabels, tolerance, repeat, by = displayLabels?.indirect?.by } = field;
  if (name === undefined) return [];
  const labels = tableOf(field);
  return [{
    name,
    type,
    ...(unit !== undefined && { unit }),
    ...(bits !== undefined && { bits }),
    ...numbersOf(field),
    ...(labels && { labels }),
    ...(by !== undefined && { by }),
    ...labelsByOf(field.indirect ?? displayLabels?.indirect?.tables),
    ...(displayLabels?.bits && { bit_labels: mapValues(displayLabels.bits.byCode, String) }),
    ...keyUnitsOf(field),
    ...(tolerance !== undefined && { tolerance }),
    ...(repeat !== undefined && { repeat }),
  }];
}

function labelsByOf(tables: Field["indirect"]): Pick<FieldDescription, "labels_by"> {
  return tables ? { labels_by: mapValues(tables, ({ byCode }) => mapValues(byCode, String)) } : {};
}

function keyUnitsOf({ keys }: Field): Pick<FieldDescription, "key_units"> {
  const units = Array.from(keys ?? [], ([code, { unit }]) => [code, unit]).filter(([, unit]) => unit !== undefined);
  return units.length === 0 ? {} : { key_units: Object.fromEntries(units) };
}

function tableOf(
  { keys, match, displayLabels, labels = displayLabels?.labels }: Field,
): Record<string, string> | undefined {
  if (keys) return mapValues(keys, ({ name = "" }) => name);
  if (!labels) return undefined;
  if (match === undefined) return mapValues(labels.byCode, String);
  const label = labels.byCode.get(match);
  return label === undefined ? undefined : { [match]: label };
}

function mapValues<T, R>(map: ReadonlyMap<number, T>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Array.from(map, ([key, value]) => [key, change(value)]));
}

/** Range and resolution of a number. */
function numbersOf(field: Field): Pick<FieldDescription, "min" | "max" | "resolution"> {
  const { match, times, per } = field;
  const range = rangeOf(field);
  if (range === undefined) return {};
  return { ...(match === undefined && range), ...(times !== per && { resolution: times / per }) };
}
