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

/** A number as it lies in the payload; wider ones than a double holds are bigints. */
export type Raw = number | bigint;

/** Fields of up to this many bits have a number as raw value, wider ones a bigint. */
export const MAX_NUMBER_BITS = 48;

/** A table of labels, both ways. */
export interface Labels {
  byCode: ReadonlyMap<number, string>;
  byLabel: ReadonlyMap<string, number>;
}

/** Who described a definition; it decides what "not available" is and how odd bytes of a text are read. */
export type Origin = "overlay" | "canboat";

/** A field with everything looked up that its row only names. */
export interface Field extends Omit<FieldSpec, "type" | "table" | "parts"> {
  type: FieldType;
  times: number;
  add: number;
  per: number;
  origin: Origin;
  /** Raw values that read as null. */
  nulls: readonly Raw[];
  /** Raw value that is sent for null. */
  blank: Raw;
  labels?: Labels;
  /** Labels for people of what is decoded as a number. */
  words?: { labels?: Labels; bits?: Labels; indirect?: { by: string; tables: ReadonlyMap<number, Labels> } };
  /** For `indirect`: labels by the other field's raw value … */
  indirect?: ReadonlyMap<number, Labels>;
  /** … which lies here, before or behind this one. */
  byBits?: { bit: number; bits: number };
  /** For `key`: what the value that follows is. */
  keys?: ReadonlyMap<number, Field>;
  parts?: readonly Field[];
}

/** A set of fields that repeats. */
export interface Group {
  group: string;
  count?: string;
  /** A last set that the payload cuts is filled up with ones like any short payload; otherwise it is left out. */
  partial: boolean;
  fields: readonly Field[];
}

export type Item = Field | Group;

/** One layout of a PGN. */
export interface Definition extends Omit<DefinitionSpec, "fields" | "least"> {
  origin: Origin;
  least: number;
  items: readonly Item[];
  /** Bits before the first field whose width the payload tells, or of the whole when there is none. */
  fixedBits: number;
  /** What makes this layout the one: bit offset, and the field with its `match`. */
  matches: readonly { bit: number; field: Field }[];
}

/** True for a group of fields. */
export function isGroup(item: Item): item is Group;
export function isGroup(item: ItemSpec): item is GroupSpec;
export function isGroup(item: Item | ItemSpec): boolean {
  return "group" in item;
}

const NULLABLE: ReadonlySet<FieldType> = new Set(["number", "pgn", "enum", "indirect", "hex", "date", "time"]);

/** 2^bits − 1, as wide as the raw values of that width. */
function allOnes(bits: number): Raw {
  return bits > MAX_NUMBER_BITS ? (1n << BigInt(bits)) - 1n : 2 ** bits - 1;
}

function minus(raw: Raw, count: number): Raw {
  return typeof raw === "bigint" ? raw - BigInt(count) : raw - count;
}

function halved(raw: Raw): Raw {
  return typeof raw === "bigint" ? raw >> 1n : Math.floor(raw / 2);
}

/** Raw values of a field that read as null, the one that is sent first. */
function nullsOf(spec: FieldSpec, type: FieldType, origin: Origin): Raw[] {
  const { bits } = spec;
  const nullable = NULLABLE.has(type) && spec.match === undefined && !spec.always && spec.repeat === undefined;
  if (!nullable || bits === undefined) return [];
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

/** A value made once for each name, from the text that the definitions hold. */
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

/** What the values after the keys of a table are: canboat's rows with what the overlay says of them. */
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

function wordsOf({ label_table, bit_table, indirect_table }: FieldSpec): Pick<Field, "words"> {
  if (label_table !== undefined) return { words: { labels: labelTable(label_table) } };
  if (bit_table !== undefined) return { words: { bits: labelTable(bit_table) } };
  if (indirect_table === undefined) return {};
  return { words: { indirect: { by: indirect_table.by, tables: indirectTable(indirect_table.name) } } };
}

function fieldOf(spec: FieldSpec, origin: Origin): Field {
  const { table, parts, ...rest } = spec;
  const type = spec.type ?? "number";
  const labels = table !== undefined && ["enum", "lookup", "bits"].includes(type) ? labelTable(table) : undefined;
  const nulls = nullsOf(spec, type, origin);
  return {
    ...rest,
    type,
    times: spec.times ?? 1,
    add: spec.add ?? 0,
    per: spec.per ?? 1,
    origin,
    nulls: labels ? nulls.filter((raw) => !labels.byCode.has(Number(raw))) : nulls,
    blank: spec.zeros ? 0 : spec.absent?.[0] ?? nulls[0] ?? allOnes(spec.bits ?? 8),
    ...(parts && { parts: parts.map((part) => fieldOf(part, origin)) }),
    ...(labels && { labels }),
    ...(table !== undefined && type === "indirect" && { indirect: indirectTable(table) }),
    ...(table !== undefined && type === "key" && { keys: keyTable(table) }),
    ...wordsOf(spec),
  };
}

/** Bits of a field in the payload; undefined when the payload tells. */
export function widthOf(field: Field | FieldSpec): number | undefined {
  if (field.proprietary) return undefined;
  return field.bits === undefined ? undefined : field.bits * (field.repeat ?? 1);
}

/** A length is a number even where all ones would say "not available". */
function neverNull(items: readonly Item[], name: string): void {
  for (const item of items) if (!isGroup(item) && item.name === name) item.nulls = [];
}

/** Where the fields of known width lie, up to the first whose width the payload tells. */
function placesOf(fields: readonly ItemSpec[]): { places: Map<FieldSpec, number>; end: number } {
  const places = new Map<FieldSpec, number>();
  let bit = 0;
  for (const item of fields) {
    if (isGroup(item)) break;
    places.set(item, bit);
    const width = widthOf(item);
    if (width === undefined) break;
    bit += width;
  }
  return { places, end: bit };
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
  const named = new Map(Array.from(placesOf(fields).places, ([{ name, bits = 0 }, bit]) => [name, { bit, bits }]));
  for (const item of items) {
    const place = isGroup(item) || item.type !== "indirect" ? undefined : named.get(item.by);
    if (place && !isGroup(item)) item.byBits = place;
  }
  return items;
}

/** A definition whose fields are resolved when somebody looks at them: of a PGN's layouts, few are ever met. */
function definitionOf(spec: DefinitionSpec, origin: Origin): Definition {
  const { fields, ...rest } = spec;
  const { places, end } = placesOf(fields);
  const matching = [...places].filter(([{ match }]) => match !== undefined);
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

/** canboat's layouts: those that are newer than the package first, in place of the older ones of the same id. */
function canboatLayouts(pgn: number): Definition[] {
  const row = generated.get(pgn);
  const interval = row === undefined || row[3] === null ? {} : { interval: Number(row[3]) };
  const layouts: GeneratedLayout[] = row === undefined ? [] : JSON.parse(String(row[4]));
  const specs = layouts.map((layout) => withTolerances({ description: String(row?.[2]), ...interval, ...layout, pgn }));
  const fresh = newer.get(pgn) ?? [];
  const replaced = new Set(fresh.flatMap(({ id, replaces }) => [id, replaces]));
  return [...fresh, ...specs.filter(({ id }) => !replaced.has(id))].map((spec) => definitionOf(spec, "canboat"));
}

function layoutsOf(pgn: number): Definition[] {
  const own = (overlay.get(pgn) ?? []).map((spec) => definitionOf(spec, "overlay"));
  if (own.some(({ matches }) => matches.length === 0)) return own;
  return [...own, ...canboatLayouts(pgn).filter(({ id }) => !own.some((each) => each.id === id))];
}

/** The layouts of a PGN, in the order in which they are tried; none when nobody has described it. */
export function definitionsOf(pgn: number): readonly Definition[] {
  let layouts = known.get(pgn);
  if (layouts === undefined && all.has(pgn)) known.set(pgn, layouts = layoutsOf(pgn));
  return layouts ?? [];
}

/** All PGNs that somebody has described, ascending. */
export function knownPgns(): number[] {
  return [...all].sort((a, b) => a - b);
}
