import definitions from "./definitions.gen.json" with { type: "json" };
import {
  KEY_ROWS,
  NEWER_LAYOUTS,
  NEWER_TABLES,
  NEWEST_LAYOUTS,
  NEWEST_TABLES,
  OVERLAY_DEFINITIONS,
  OVERLAY_TABLES,
  TOLERANCES,
} from "./overlay.ts";
import {
  defaultCodes,
  type DefinitionSpec,
  type FieldSpec,
  type FieldType,
  type GroupSpec,
  type ItemSpec,
  type LabelTable,
} from "./spec.ts";

/** A number in the payload; wide ones, which a double cannot hold, are bigints. */
export type Raw = number | bigint;

/** Fields of up to this many bits have a number as raw value, wider ones a bigint. */
export const MAX_NUMBER_BITS = 48;

/** A table of labels, both ways. */
export interface Labels {
  byCode: ReadonlyMap<number, string>;
  byLabel: ReadonlyMap<string, number>;
}

/** Source of a definition; determines the values of "not available" and the decoding of invalid UTF-8. */
export type Origin = "overlay" | "canboat";

/** A field with the tables that its row names. */
export interface Field extends Omit<FieldSpec, "type" | "table" | "parts"> {
  type: FieldType;
  times: number;
  add: number;
  per: number;
  origin: Origin;
  /** Raw values that are decoded as null. */
  nulls: readonly Raw[];
  /** Null where the payload ends before it, although all ones are a value. */
  nullBeyond: boolean;
  /** Raw value that is sent for null. */
  blank: Raw;
  labels?: Labels;
  /** Human-readable labels of values that are decoded as numbers. */
  displayLabels?: { labels?: Labels; bits?: Labels; indirect?: { by: string; tables: ReadonlyMap<number, Labels> } };
  /** For `indirect`: labels by the other field's raw value … */
  indirect?: ReadonlyMap<number, Labels>;
  /** … which is at this offset, before or after this one. */
  byBits?: { bit: number; bits: number };
  /** For `key`: the type of the following value, by key. */
  keys?: ReadonlyMap<number, Field>;
  parts?: readonly Field[];
}

/** A repeated set of fields. */
export interface Group {
  group: string;
  count?: string;
  /** An incomplete last set is padded with ones; otherwise it is omitted. */
  partial: boolean;
  fields: readonly Field[];
}

export type Item = Field | Group;

/** One layout of a PGN. */
export interface Definition extends Omit<DefinitionSpec, "fields" | "least"> {
  origin: Origin;
  least: number;
  items: readonly Item[];
  /** Bits before the first field of variable width, or of the whole layout. */
  fixedBits: number;
  /** Discriminators: bit offset, and the field with its `match`. */
  matches: readonly { bit: number; field: Field }[];
}

/** True for a group of fields. */
export function isGroup(item: Item): item is Group;
export function isGroup(item: ItemSpec): item is GroupSpec;
export function isGroup(item: Item | ItemSpec): boolean {
  return "group" in item;
}

const NULLABLE: ReadonlySet<FieldType> = new Set(["number", "pgn", "enum", "indirect", "hex", "date", "time"]);

/** 2^bits − 1, as a bigint for wide fields. */
function allOnes(bits: number): Raw {
  return bits > MAX_NUMBER_BITS ? (1n << BigInt(bits)) - 1n : 2 ** bits - 1;
}

function minus(raw: Raw, count: number): Raw {
  return typeof raw === "bigint" ? raw - BigInt(count) : raw - count;
}

function halved(raw: Raw): Raw {
  return typeof raw === "bigint" ? raw >> 1n : Math.floor(raw / 2);
}

/** True for fields that may be null. */
function isNullable({ match, always, repeat }: FieldSpec, isType: boolean): boolean {
  return isType && match === undefined && !always && repeat === undefined;
}

/** Raw values of a field that are decoded as null; the first is the one that is sent. */
function nullsOf(spec: FieldSpec, type: FieldType, origin: Origin): Raw[] {
  const { bits } = spec;
  if (!isNullable(spec, NULLABLE.has(type)) || bits === undefined) return [];
  const top = spec.signed ? halved(allOnes(bits)) : allOnes(bits);
  const nulls: Raw[] = [];
  if (origin === "canboat") {
    const codes = spec.codes ?? defaultCodes(bits);
    for (let code = 0; code < codes; code++) nulls.push(minus(top, code));
  } else if (bits > 1) {
    nulls.push(top);
    if (spec.signed) nulls.push(bits > MAX_NUMBER_BITS ? -1n : -1);
  }
  return [...nulls, ...spec.absent ?? []];
}

function labelsOf(table: LabelTable): Labels {
  const byCode = new Map(Object.entries(table).map(([code, label]) => [Number(code), label]));
  const byLabel = new Map<string, number>();
  for (const [code, label] of byCode) if (!byLabel.has(label)) byLabel.set(label, code);
  return { byCode, byLabel };
}

/** Parses the JSON text of a name when it is first needed. */
function lazily<T>(texts: readonly (readonly string[])[], make: (parsed: unknown) => T): (name: string) => T {
  const byName = new Map(texts.map(([name, text]) => [name, text]));
  const made = new Map<string, T>();
  return (name) => {
    let value = made.get(name);
    if (value === undefined) {
      const text = byName.get(name);
      if (text === undefined) throw new Error(`no table named ${JSON.stringify(name)}`);
      made.set(name, value = make(JSON.parse(text)));
    }
    return value;
  };
}

const written: ReadonlyMap<string, LabelTable> = new Map(
  Object.entries({ ...OVERLAY_TABLES, ...NEWER_TABLES, ...NEWEST_TABLES }),
);
const labelTable = lazily(
  [...definitions.tables, ...Array.from(written, ([name, table]) => [name, JSON.stringify(table)])],
  (table) => labelsOf(table as LabelTable),
);
const indirectTable = lazily(
  definitions.indirect,
  (table) =>
    new Map(
      Object.entries(table as Record<string, LabelTable>).map(([code, labels]) => [Number(code), labelsOf(labels)]),
    ),
);
const keyTables = new Map(definitions.keys.map(([name, text]) => [name, text]));
const keyTablesMade = new Map<string, ReadonlyMap<number, Field>>();

/** Types of the values after the keys of a table: canboat's rows, changed by the overlay. */
function keyTable(name: string): ReadonlyMap<number, Field> {
  let table = keyTablesMade.get(name);
  if (table === undefined) {
    const rows: Record<string, FieldSpec> = JSON.parse(keyTables.get(name) ?? "{}");
    for (const changes of KEY_ROWS.filter((each) => each.table === name)) {
      for (const [key, row] of Object.entries(changes.rows)) rows[key] = { ...rows[key], ...row };
    }
    table = new Map(Object.entries(rows).map(([code, spec]) => [Number(code), fieldOf(spec, "canboat")]));
    keyTablesMade.set(name, table);
  }
  return table;
}

function displayLabelsOf({ label_table, bit_table, indirect_table }: FieldSpec): Pick<Field, "displayLabels"> {
  if (label_table !== undefined) return { displayLabels: { labels: labelTable(label_table) } };
  if (bit_table !== undefined) return { displayLabels: { bits: labelTable(bit_table) } };
  if (indirect_table === undefined) return {};
  return { displayLabels: { indirect: { by: indirect_table.by, tables: indirectTable(indirect_table.name) } } };
}

function fieldOf(spec: FieldSpec, origin: Origin): Field {
  const { table, parts, ...rest } = spec;
  const { type = "number", bits = 0 } = spec;
  const labels = table !== undefined && ["enum", "lookup", "bits"].includes(type) ? labelTable(table) : undefined;
  const sent = nullsOf(spec, type, origin);
  const nulls = labels ? sent.filter((raw) => !labels.byCode.has(Number(raw))) : sent;
  const isNullBeyond = origin === "canboat" && isNullable(spec, NULLABLE.has(type) || type === "bits");
  return {
    ...rest,
    type,
    times: spec.times ?? 1,
    add: spec.add ?? 0,
    per: spec.per ?? 1,
    origin,
    nulls,
    // Missing single bits are 1. Of most unsigned fields all ones are null anyway.
    nullBeyond: isNullBeyond && bits > 1 && (spec.signed === true || !nulls.includes(allOnes(bits))),
    blank: spec.zeros ? 0 : spec.absent?.[0] ?? sent[0] ?? allOnes(spec.bits ?? 8),
    ...(parts && { parts: parts.map((part) => fieldOf(part, origin)) }),
    ...(labels && { labels }),
    ...(table !== undefined && type === "indirect" && { indirect: indirectTable(table) }),
    ...(table !== undefined && type === "key" && { keys: keyTable(table) }),
    ...displayLabelsOf(spec),
  };
}

/** Bits of a field in the payload; undefined for a variable width. */
export function widthOf(field: Field | FieldSpec): number | undefined {
  if (field.proprietary) return undefined;
  return field.bits === undefined ? undefined : field.bits * (field.repeat ?? 1);
}

/** All ones are a valid length. */
function neverNull(items: readonly Item[], name: string): void {
  for (const item of items) {
    if (!isGroup(item) && item.name === name) Object.assign(item, { nulls: [], nullBeyond: false });
  }
}

/** Bit offsets of the fields up to the first of variable width. */
function offsetsOf(fields: readonly ItemSpec[]): { offsets: Map<FieldSpec, number>; end: number } {
  const offsets = new Map<FieldSpec, number>();
  let bit = 0;
  for (const item of fields) {
    if (isGroup(item)) break;
    offsets.set(item, bit);
    const width = widthOf(item);
    if (width === undefined) break;
    bit += width;
  }
  return { offsets, end: bit };
}

function itemsOf({ fields }: DefinitionSpec, origin: Origin): Item[] {
  const items = fields.map((item): Item =>
    isGroup(item)
      ? {
        ...item,
        partial: origin === "canboat" && item.count !== undefined,
        fields: item.fields.map((field) => fieldOf(field, origin)),
      }
      : fieldOf(item, origin)
  );
  for (const field of items.flatMap((item) => isGroup(item) ? item.fields : [item])) {
    if (field.type === "binary" && field.by !== undefined) neverNull(items, field.by);
  }
  const named = new Map(Array.from(offsetsOf(fields).offsets, ([{ name, bits = 0 }, bit]) => [name, { bit, bits }]));
  for (const item of items) {
    const offset = isGroup(item) || item.type !== "indirect" ? undefined : named.get(item.by);
    if (offset && !isGroup(item)) item.byBits = offset;
  }
  return items;
}

/** A definition whose fields are resolved at first use: most layouts are never used. */
function definitionOf(spec: DefinitionSpec, origin: Origin): Definition {
  const { fields, ...rest } = spec;
  const { offsets, end } = offsetsOf(fields);
  const matching = [...offsets].filter(([{ match }]) => match !== undefined);
  let items: Item[] | undefined;
  return {
    ...rest,
    origin,
    least: spec.least ?? 0,
    get items() {
      return items ??= itemsOf(spec, origin);
    },
    fixedBits: end,
    matches: matching.map(([field, bit]) => ({ bit, field: fieldOf(field, origin) })),
  };
}

function withTolerances(spec: DefinitionSpec): DefinitionSpec {
  const rows = TOLERANCES.filter(({ pgn, id }) => pgn === spec.pgn && id === spec.id);
  if (rows.length === 0) return spec;
  const tolerances = new Map(rows.flatMap((row) => Object.entries(row.tolerances)));
  const changed = (field: FieldSpec): FieldSpec => {
    const tolerance = tolerances.get(field.name ?? "");
    return tolerance === undefined ? field : { ...field, tolerance };
  };
  return {
    ...spec,
    fields: spec.fields.map((item) => isGroup(item) ? { ...item, fields: item.fields.map(changed) } : changed(item)),
  };
}

type GeneratedLayout = Omit<DefinitionSpec, "pgn" | "description"> & { description?: string };

const generated = new Map(definitions.pgns.map((row) => [Number(row[0]), row]));
const overlay = Map.groupBy(OVERLAY_DEFINITIONS, ({ pgn }) => pgn);
const newer = Map.groupBy([...NEWEST_LAYOUTS, ...NEWER_LAYOUTS], ({ pgn }) => pgn);
const all: ReadonlySet<number> = new Set([...generated.keys(), ...overlay.keys(), ...newer.keys()]);
const known = new Map<number, readonly Definition[]>();

/** canboat's layouts: newer ones first, which replace those of the package. */
function canboatLayouts(pgn: number): Definition[] {
  const row = generated.get(pgn);
  const interval = row === undefined || row[3] === null ? {} : { interval: Number(row[3]) };
  const layouts: GeneratedLayout[] = row === undefined ? [] : JSON.parse(String(row[4]));
  const specs = layouts.map((layout) => withTolerances({ description: String(row?.[2]), ...interval, ...layout, pgn }));
  const fresh = newer.get(pgn) ?? [];
  const replaced = new Set(fresh.flatMap(({ id, replaces }) => [id, replaces]));
  return [...fresh, ...specs.filter(({ id }) => !replaced.has(id))].map((spec) => definitionOf(spec, "canboat"));
}

const canboat = new Map<number, readonly Definition[]>();

/** canboat's layouts of a PGN, without the changes of the overlay; none for a PGN that canboat does not know. */
export function canboatDefinitionsOf(pgn: number): readonly Definition[] {
  let layouts = canboat.get(pgn);
  if (layouts === undefined && (generated.has(pgn) || newer.has(pgn))) canboat.set(pgn, layouts = canboatLayouts(pgn));
  return layouts ?? [];
}

function layoutsOf(pgn: number): Definition[] {
  const own = (overlay.get(pgn) ?? []).map((spec) => definitionOf(spec, "overlay"));
  if (own.some(({ matches }) => matches.length === 0)) return own;
  return [...own, ...canboatLayouts(pgn).filter(({ id }) => !own.some((each) => each.id === id))];
}

/** The layouts of a PGN, in order of precedence; none for an unknown PGN. */
export function definitionsOf(pgn: number): readonly Definition[] {
  let layouts = known.get(pgn);
  if (layouts === undefined && all.has(pgn)) known.set(pgn, layouts = layoutsOf(pgn));
  return layouts ?? [];
}

/** All known PGNs, ascending. */
export function knownPgns(): number[] {
  return [...all].sort((a, b) => a - b);
}
