import assert from "node:assert/strict";
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };
import {
  KEY_ROWS,
  NEWER_LAYOUTS,
  NEWEST_LAYOUTS,
  OVERLAY_DEFINITIONS,
  OVERLAY_TABLES,
  TOLERANCES,
} from "../../src/pgn/overlay.ts";
import type { DefinitionSpec, FieldSpec } from "../../src/pgn/spec.ts";
import { allowed, needs } from "../support/needs.ts";

interface CanboatField {
  Id: string;
  Order: number;
  FieldType: string;
  BitOffset?: number;
  BitLength?: number;
  Resolution?: number;
  Offset?: number;
  Signed?: boolean;
}

interface CanboatLayout {
  PGN: number;
  Id: string;
  Length?: number;
  TransmissionInterval?: number;
  Fields: CanboatField[];
}

/** A field with the number and the bit at which it stands; the bit only as long as no text has moved it. */
interface Placed {
  field: FieldSpec;
  number: number;
  bit: number | undefined;
}

const reading = needs({ permissions: ["read"] });
const LAYOUTS: readonly CanboatLayout[] = allowed("read")
  ? JSON.parse(await Deno.readTextFile(new URL("../canboat.json", import.meta.resolve("@canboat/ts-pgns")))).PGNs
  : [];
/** Layouts that canboat does not have. */
const OURS = [64520, 65237, 61444, 126720, 126720, 130723, 130762, 130969, 131015];
const SNAKE_CASE = /^[a-z0-9]+(?:_[a-z0-9]+)*$/;

function titleOf({ pgn, id }: DefinitionSpec): string {
  return `${pgn} ${id}`;
}

/** Fields of a definition in order, those of a group behind the others. */
function fieldsOf({ fields }: DefinitionSpec): FieldSpec[] {
  return fields.flatMap((item) => "group" in item ? item.fields : [item]);
}

const FIELDS = OVERLAY_DEFINITIONS.flatMap((definition) =>
  fieldsOf(definition).map((field) => ({ field, where: `${titleOf(definition)}: ${field.name ?? "reserved"}` }))
);

function canboatOf({ pgn, id }: DefinitionSpec): CanboatLayout | undefined {
  return LAYOUTS.find(({ PGN, Id }) => PGN === pgn && Id === id);
}

/** Overlay definitions that stand for a layout of canboat's. */
function pairs(): { definition: DefinitionSpec; canboat: CanboatLayout; title: string }[] {
  return OVERLAY_DEFINITIONS.flatMap((definition) => {
    const canboat = canboatOf(definition);
    return canboat ? [{ definition, canboat, title: titleOf(definition) }] : [];
  });
}

function placed(definition: DefinitionSpec): Placed[] {
  let number = 1;
  let bit: number | undefined = 0;
  return fieldsOf(definition).map((field) => {
    number = field.number ?? number;
    const place = { field, number, bit };
    const { bits, repeat = 1 } = field;
    number += repeat;
    bit = bit === undefined || bits === undefined ? undefined : bit + bits * repeat;
    return place;
  });
}

function isReserved({ FieldType }: CanboatField): boolean {
  return FieldType === "RESERVED" || FieldType === "SPARE";
}

/** Whether both give the same number for the same bits. */
function readsAlike({ bits, signed, times = 1, add = 0, per = 1 }: FieldSpec, field: CanboatField): boolean {
  const { BitLength, Signed = false, Resolution = 1, Offset = 0 } = field;
  const scale = Math.abs(times / per / Resolution - 1) < 1e-6;
  return bits === BitLength && (signed ?? false) === Signed && scale && add / per === Offset;
}

/** Keys that rows may have: a misspelt one in the data files would be ignored silently. */
const FIELD_KEYS: (keyof FieldSpec)[] = [
  ...["name", "zeros", "type", "bits", "signed", "times", "add", "per", "unit", "table", "label_table"] as const,
  ...["bit_table", "indirect_table", "match", "codes", "absent", "always", "repeat", "each", "fill"] as const,
  ...["elsewhere", "by", "count", "proprietary", "number", "parts", "tolerance", "reason"] as const,
];
const LAYOUT_KEYS: (keyof DefinitionSpec)[] = [
  ...["pgn", "id", "description", "least", "interval", "complete", "reason", "replaces", "fields"] as const,
];

Deno.test("rows of the data files have no key that nothing reads", () => {
  const keys: readonly string[] = FIELD_KEYS;
  for (const definition of [...OVERLAY_DEFINITIONS, ...NEWER_LAYOUTS, ...NEWEST_LAYOUTS]) {
    const title = titleOf(definition);
    for (const key of Object.keys(definition)) assert.ok((LAYOUT_KEYS as string[]).includes(key), `${title}: ${key}`);
    for (const field of fieldsOf(definition)) {
      for (const key of Object.keys(field)) assert.ok(keys.includes(key), `${title}: ${field.name} ${key}`);
    }
  }
  for (const row of KEY_ROWS.flatMap(({ rows }) => Object.values(rows))) {
    for (const key of Object.keys(row)) assert.ok(keys.includes(key), `${row.name} ${key}`);
  }
});

Deno.test("every overlay definition has a reason and a description", () => {
  for (const definition of [...OVERLAY_DEFINITIONS, ...NEWER_LAYOUTS, ...NEWEST_LAYOUTS]) {
    assert.ok((definition.reason ?? "").length > 15, titleOf(definition));
    assert.match(definition.description, /^[A-Z].{3,}/, titleOf(definition));
  }
});

Deno.test("no two overlay definitions have the same PGN and id", () => {
  const titles = OVERLAY_DEFINITIONS.map(titleOf);
  assert.deepEqual(titles, [...new Set(titles)]);
});

Deno.test("of several definitions of a PGN, no payload fits two", () => {
  for (const [pgn, definitions] of Map.groupBy(OVERLAY_DEFINITIONS, (each) => each.pgn)) {
    if (definitions.length === 1) continue;
    const codes = definitions.map((each) => placed(each).filter(({ field }) => field.match !== undefined));
    assert.ok(codes.every((matches) => matches.length > 0), `PGN ${pgn}`);
    const texts = codes.map((matches) => matches.map(({ field, bit }) => `${bit}=${field.match}`).join());
    assert.equal(new Set(texts).size, texts.length, `PGN ${pgn}: ${texts}`);
  }
});

Deno.test("names are snake_case and unique within a definition and within each set", () => {
  for (const definition of OVERLAY_DEFINITIONS) {
    const lists = [
      definition.fields.flatMap((item) => "group" in item ? item.group : item.name ?? []),
      ...definition.fields.flatMap((item) => "group" in item ? [item.fields.flatMap(({ name }) => name ?? [])] : []),
    ];
    for (const names of lists) {
      assert.equal(new Set(names).size, names.length, `${titleOf(definition)}: ${names}`);
      for (const name of names) assert.match(name, SNAKE_CASE, titleOf(definition));
    }
  }
});

Deno.test("fields that refer to another name one that stands before them", () => {
  for (const definition of OVERLAY_DEFINITIONS) {
    const before = new Set<string>();
    for (const item of definition.fields) {
      const other = "group" in item ? item.count : item.by;
      if (other !== undefined) assert.ok(before.has(other), `${titleOf(definition)}: ${other}`);
      if (!("group" in item) && item.name !== undefined) before.add(item.name);
    }
  }
});

Deno.test("counts of sets are never null", () => {
  let counts = 0;
  for (const definition of OVERLAY_DEFINITIONS) {
    for (const item of definition.fields) {
      if (!("group" in item) || item.count === undefined) continue;
      const count = fieldsOf(definition).find(({ name }) => name === item.count);
      assert.equal(count?.always, true, titleOf(definition));
      counts++;
    }
  }
  assert.equal(counts, 2);
});

Deno.test("scales are whole numbers: no value carries rounding noise", () => {
  for (const { field: { times = 1, add = 0, per = 1 }, where } of FIELDS) {
    assert.ok([times, add, per].every(Number.isInteger) && times > 0 && per > 0, where);
  }
});

Deno.test("raw values that are told as absent or compared with fit into the bits of their field", () => {
  for (const { field: { bits = 0, absent = [], match }, where } of FIELDS) {
    for (const raw of match === undefined ? absent : [...absent, match]) {
      assert.ok(Number.isInteger(raw) && raw >= 0 && raw < 2 ** bits, where);
    }
  }
});

Deno.test("a tolerance is at least one step of its field, and only numbers have one", () => {
  let tolerances = 0;
  for (const { field: { tolerance, type = "number", times = 1, per = 1 }, where } of FIELDS) {
    if (tolerance === undefined) continue;
    tolerances++;
    assert.equal(type, "number", where);
    assert.ok(tolerance >= times / per, `${where}: ${tolerance} is less than ${times / per}`);
  }
  assert.ok(tolerances > 80, `${tolerances}`);
});

Deno.test("speeds, angles, temperatures, pressures and electrical measurements have a tolerance", () => {
  const units = ["m/s", "rad", "rad/s", "K", "Pa", "V", "A", "W", "VA", "Hz", "rpm", "L/h", "dB", "deg"];
  for (const { field: { name = "", unit = "", tolerance }, where } of FIELDS) {
    if (units.includes(unit) && !name.startsWith("set_")) assert.ok(tolerance !== undefined, where);
  }
});

Deno.test("every table that a field names is there, and every overlay table is used", () => {
  const named = new Set<string>();
  for (const { field: { type, table, label_table = "" }, where } of FIELDS) {
    assert.equal(table !== undefined, type === "enum" || type === "lookup", where);
    if (label_table in OVERLAY_TABLES) named.add(label_table);
    if (table === undefined) continue;
    assert.ok(table in OVERLAY_TABLES, `${where}: ${table}`);
    named.add(table);
  }
  assert.deepEqual([...named].sort(), Object.keys(OVERLAY_TABLES).sort());
});

Deno.test("the labels of a table are unique, and its name is in lower case, unlike canboat's", () => {
  for (const [name, table] of Object.entries(OVERLAY_TABLES)) {
    const labels = Object.values(table);
    assert.equal(new Set(labels).size, labels.length, name);
    assert.match(name, SNAKE_CASE);
  }
});

Deno.test("labels of enums are snake_case and fit into their field, without all ones, which is null", () => {
  for (const { field: { type, table = "", bits = 0 }, where } of FIELDS) {
    if (type !== "enum") continue;
    for (const [code, label] of Object.entries(OVERLAY_TABLES[table] ?? {})) {
      assert.match(label, SNAKE_CASE, where);
      assert.ok(Number(code) < 2 ** bits - 1, `${where}: ${code} ${label}`);
    }
  }
});

Deno.test("overlay definitions stand for a layout of canboat's, but for those that it does not know", reading, () => {
  const unknown = OVERLAY_DEFINITIONS.filter((definition) => !canboatOf(definition)).map(({ pgn }) => pgn);
  assert.deepEqual(unknown.sort((a, b) => a - b), OURS.sort((a, b) => a - b));
});

Deno.test("a field at canboat's number stands at canboat's bit and reads the same number, or says why", reading, () => {
  let compared = 0;
  for (const { definition, canboat, title } of pairs()) {
    for (const { field, number, bit } of placed(definition)) {
      if (field.name === undefined || field.reason !== undefined) continue;
      const source = canboat.Fields.find(({ Order }) => Order === number);
      assert.ok(source, `${title}: canboat has no field ${number} (${field.name})`);
      compared++;
      if (bit !== undefined && source.BitOffset !== undefined) {
        assert.equal(bit, source.BitOffset, `${title}: ${field.name}`);
      }
      if (field.bits !== undefined) assert.ok(readsAlike(field, source), `${title}: ${field.name} and ${source.Id}`);
    }
  }
  assert.ok(compared > 300, `${compared} fields`);
});

Deno.test("bits that canboat has a name for have one here too, or say why not", reading, () => {
  for (const { definition, canboat, title } of pairs()) {
    for (const { field, number, bit } of placed(definition)) {
      const source = canboat.Fields.find(({ Order }) => Order === number);
      if (field.name !== undefined || field.reason !== undefined || source?.BitOffset !== bit) continue;
      assert.ok(source === undefined || isReserved(source), `${title}: no name for ${source?.Id}`);
    }
  }
});

Deno.test("definitions of fixed length are as long as canboat's, or their last field says why", reading, () => {
  let compared = 0;
  for (const { definition, canboat: { Length }, title } of pairs()) {
    const { field, bit } = placed(definition).at(-1) ?? {};
    if (Length === undefined || field?.bits === undefined || bit === undefined) continue;
    const end = bit + field.bits * (field.repeat ?? 1);
    assert.ok(end === Length * 8 || field.reason !== undefined, `${title}: ${end / 8} bytes, canboat has ${Length}`);
    compared++;
  }
  assert.ok(compared > 50, `${compared} definitions`);
});

Deno.test("definitions of fixed length are whole bytes", () => {
  for (const definition of OVERLAY_DEFINITIONS) {
    const { field, bit } = placed(definition).at(-1) ?? {};
    if (field?.bits === undefined || bit === undefined) continue;
    assert.equal((bit + field.bits * (field.repeat ?? 1)) % 8, 0, titleOf(definition));
  }
});

Deno.test("intervals are canboat's", reading, () => {
  for (const { definition, canboat, title } of pairs()) {
    assert.equal(definition.interval, canboat.TransmissionInterval, title);
  }
});

Deno.test("every tolerance has a reason, is given once, and is of no definition of the overlay", () => {
  const titles = TOLERANCES.flatMap(({ pgn, id, tolerances }) =>
    Object.keys(tolerances).map((field) => `${pgn} ${id} ${field}`)
  );
  assert.ok(titles.length > 30, `${titles.length}`);
  assert.deepEqual(titles, [...new Set(titles)]);
  for (const { pgn, id, reason } of TOLERANCES) {
    assert.ok(reason.length > 15, `${pgn} ${id}`);
    assert.ok(!OVERLAY_DEFINITIONS.some((each) => each.pgn === pgn && each.id === id), `${pgn} ${id}`);
  }
});

Deno.test("every tolerance is of a field of canboat's, and at least one step of it", reading, () => {
  for (const { pgn, id, tolerances } of TOLERANCES) {
    const layout = LAYOUTS.find(({ PGN, Id }) => PGN === pgn && Id === id);
    for (const [field, tolerance] of Object.entries(tolerances)) {
      const source = layout?.Fields.find(({ Id }) => Id.toLowerCase() === field.replaceAll("_", ""));
      assert.ok(source, `${pgn} ${id}: ${field}`);
      assert.ok(tolerance >= (source.Resolution ?? 1), `${pgn} ${id}: ${field}`);
    }
  }
});

Deno.test("every key row has a reason and changes a key of canboat's, or names a new one with its width", () => {
  for (const { table, reason, rows } of KEY_ROWS) {
    assert.ok(reason.length > 10, table);
    const theirs = JSON.parse(String(definitions.keys.find(([name]) => name === table)?.[1] ?? "{}"));
    for (const [key, row] of Object.entries(rows)) {
      const before = theirs[key];
      if (before === undefined) assert.ok(row.name && row.bits, `${table} ${key} has no name or width`);
      else assert.notDeepEqual({ ...before, ...row }, before, `${table} ${key} changes nothing`);
    }
  }
});
