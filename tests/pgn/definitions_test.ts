import assert from "node:assert/strict";
import { generateDefinitions } from "../../scripts/definitions.ts";
import { type Canboat, type CanboatField, type CanboatPgn, readCanboat } from "../../scripts/definitions/canboat.ts";
import { snakeCase } from "../../scripts/definitions/fields.ts";
import type { Layout } from "../../scripts/definitions/layouts.ts";
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };
import type { FieldSpec } from "../../src/pgn/spec.ts";
import { allowed, needs } from "../support/needs.ts";

const canboat: Canboat | undefined = allowed("read") ? await readCanboat() : undefined;
const layoutsByPgn = new Map<number, Layout[]>(
  definitions.pgns.map((row) => [Number(row[0]), JSON.parse(String(row[4]))]),
);
const layouts = [...layoutsByPgn].flatMap(([pgn, all]) => all.map((layout) => ({ pgn, layout })));

/** Fields of a layout in the order of the standard, those of the groups among them. */
function flat({ fields }: Layout): FieldSpec[] {
  return fields.flatMap((item) => "group" in item ? item.fields : item);
}

function layoutNamed(pgn: number, id: string): Layout {
  const layout = layoutsByPgn.get(pgn)?.find((each) => each.id === id);
  assert.ok(layout, `${pgn} ${id}`);
  return layout;
}

function fieldNamed(pgn: number, id: string, name: string): FieldSpec {
  const field = flat(layoutNamed(pgn, id)).find((each) => each.name === name);
  assert.ok(field, `${pgn} ${id} ${name}`);
  return field;
}

/** Every definition of canboat that is not a fallback, with its layout. */
function canboatPairs(): { source: CanboatPgn; layout: Layout }[] {
  const sources = canboat!.PGNs.filter(({ Fallback }) => Fallback !== true);
  return sources.map((source) => ({ source, layout: layoutNamed(source.PGN, source.Id) }));
}

/** Every field of canboat, with its row. */
function canboatFields(): { where: string; source: CanboatField; field: FieldSpec }[] {
  return canboatPairs().flatMap(({ source, layout }) => {
    const fields = flat(layout);
    return source.Fields.map((each, index) => ({
      where: `${source.PGN} ${source.Id} ${each.Id}`,
      source: each,
      field: fields[index]!,
    }));
  });
}

const reading = needs({ permissions: ["read"] });

Deno.test("definitions.gen.json is what the pinned package gives", reading, async () => {
  const committed = await Deno.readTextFile(new URL("../../src/pgn/definitions.gen.json", import.meta.url));
  assert.ok(await generateDefinitions() === committed, "stale: run deno task definitions");
});

Deno.test("definitions stay below 450 KB", reading, async () => {
  const { size } = await Deno.stat(new URL("../../src/pgn/definitions.gen.json", import.meta.url));
  assert.ok(size < 450_000, `${size} bytes`);
});

Deno.test("definitions list every PGN once, in order, with a framing that is known", () => {
  const pgns = definitions.pgns.map(([pgn]) => Number(pgn));
  assert.ok(pgns.length > 300);
  assert.deepEqual(pgns, [...new Set(pgns)].sort((a, b) => a - b));
  for (const [pgn, type, description] of definitions.pgns) {
    assert.ok(["single", "fast", "iso"].includes(String(type)), `PGN ${pgn}: ${type}`);
    assert.ok(String(description).length > 0, `PGN ${pgn}`);
  }
});

Deno.test("definitions hold every PGN and layout of canboat but its fallbacks, in canboat's order", reading, () => {
  const wanted = new Map<number, string[]>();
  for (const { PGN, Id, Fallback } of canboat!.PGNs) {
    if (!Fallback) wanted.set(PGN, [...wanted.get(PGN) ?? [], Id]);
  }
  assert.equal(layoutsByPgn.size, wanted.size);
  assert.equal(layouts.length, canboat!.PGNs.filter(({ Fallback }) => !Fallback).length);
  for (const [pgn, ids] of wanted) assert.deepEqual(layoutsByPgn.get(pgn)?.map(({ id }) => id), ids, `PGN ${pgn}`);
});

Deno.test("every layout has canboat's description and interval, its own or its PGN's", reading, () => {
  const rows = new Map(definitions.pgns.map((row) => [Number(row[0]), row]));
  for (const { source, layout } of canboatPairs()) {
    const [, , description, interval] = rows.get(source.PGN)!;
    assert.equal(layout.description ?? description, source.Description, source.Id);
    assert.equal(layout.interval ?? interval, source.TransmissionInterval ?? null, source.Id);
    assert.equal(layout.complete ?? false, source.Complete, source.Id);
  }
});

Deno.test("every field of canboat stands at its number and its bit", reading, () => {
  let compared = 0;
  for (const { source, layout } of canboatPairs()) {
    const fields = flat(layout);
    assert.equal(fields.length, source.Fields.length, source.Id);
    let bit: number | undefined = 0;
    fields.forEach((field, index) => {
      const { Order, BitOffset, BitLength, Id }: CanboatField = source.Fields[index]!;
      assert.equal(field.number ?? index + 1, Order, `${source.Id} ${Id}`);
      assert.equal(field.bits, BitLength, `${source.Id} ${Id}`);
      if (BitOffset !== undefined) {
        assert.equal(bit, BitOffset, `${source.Id} ${Id}`);
        compared++;
      }
      bit = field.bits === undefined || bit === undefined ? undefined : bit + field.bits;
    });
  }
  assert.ok(compared > 3900, `${compared} offsets compared`);
});

Deno.test("only canboat's reserved and spare bits have no name, and no meaning either", reading, () => {
  for (const { where, source, field } of canboatFields()) {
    const reserved = ["RESERVED", "SPARE"].includes(source.FieldType);
    assert.equal(field.name === undefined, reserved, where);
    if (reserved) {
      assert.deepEqual(Object.keys(field).filter((key) => key !== "proprietary" && key !== "zeros"), ["bits"], where);
    }
  }
});

Deno.test("names are snake_case and unique within a layout", () => {
  for (const { pgn, layout } of layouts) {
    const groups = layout.fields.flatMap((item) => "group" in item ? item.group : []);
    const names = [...groups, ...flat(layout).flatMap(({ name }) => name ?? [])];
    assert.equal(new Set(names).size, names.length, `${pgn} ${layout.id}: ${names}`);
    for (const name of names) assert.match(name, /^[a-z0-9]+(_[a-z0-9]+)*$/, `${pgn} ${layout.id}`);
  }
});

Deno.test("every scaled field has canboat's resolution and offset, and no other field has a scale", reading, () => {
  for (const { where, source, field } of canboatFields()) {
    const { times = 1, per = 1, add = 0 } = field;
    const { Resolution = 1, Offset = 0 } = source;
    assert.ok(Math.abs(times / per / Resolution - 1) < 5e-6, where);
    assert.equal(add / per, Offset, where);
    assert.ok([times, per, add].every(Number.isInteger), where);
  }
});

Deno.test(
  "fields are signed where canboat says so, unless an offset makes values negative",
  reading,
  () => {
    let excess = 0;
    for (const { where, source, field } of canboatFields()) {
      if (source.Offset !== undefined) excess++;
      const signed = source.FieldType !== "FLOAT" && source.Signed === true && source.Offset === undefined;
      assert.equal(field.signed ?? false, signed, where);
    }
    assert.equal(excess, 23);
  },
);

Deno.test("offsets are unsigned numbers with something added: powers of utilities, Peukert's exponent", () => {
  assert.deepEqual(fieldNamed(65013, "utilityPhaseAAcPower", "real_power"), {
    name: "real_power",
    bits: 32,
    add: -2_000_000_000,
    unit: "W",
  });
  assert.deepEqual(fieldNamed(127513, "batteryConfigurationStatus", "peukert_exponent"), {
    name: "peukert_exponent",
    bits: 8,
    add: 500,
    per: 500,
  });
});

Deno.test("codes are told only where canboat's range keeps back more or fewer than the width does", () => {
  const expected: [number, string, string, number | undefined][] = [
    [127250, "vesselHeading", "heading", undefined],
    [127250, "vesselHeading", "deviation", undefined],
    [60928, "isoAddressClaim", "device_instance_lower", 0],
    [60928, "isoAddressClaim", "device_instance_upper", 0],
    [127502, "switchBankControl", "switch1", 0],
    [129038, "aisClassAPositionReport", "nav_status", 1],
    [129038, "aisClassAPositionReport", "time_stamp", 0],
    [129038, "aisClassAPositionReport", "user_id", undefined],
    [129541, "gpsAlmanacData", "root_of_semi_major_axis", undefined],
    [129541, "gpsAlmanacData", "eccentricity", undefined],
    [129027, "positionDeltaRapidUpdate", "latitude_delta", undefined],
    [129025, "positionRapidUpdate", "latitude", undefined],
    [126992, "systemTime", "time", undefined],
    [65013, "utilityPhaseAAcPower", "real_power", undefined],
    [127513, "batteryConfigurationStatus", "peukert_exponent", undefined],
    [129029, "gnssPositionData", "altitude", undefined],
  ];
  for (const [pgn, id, name, codes] of expected) {
    assert.equal(fieldNamed(pgn, id, name).codes, codes, `${pgn} ${name}`);
  }
});

Deno.test("a field with codes ends its range exactly so many raw values below its top", reading, () => {
  const found: Record<number, number> = {};
  for (const { where, source, field } of canboatFields()) {
    if (field.codes === undefined) continue;
    found[field.codes] = (found[field.codes] ?? 0) + 1;
    const { bits = 0, times = 1, per = 1, add = 0 } = field;
    const top = 2 ** (field.signed ? bits - 1 : bits) - 1;
    const highest = ((top - field.codes) * times + add) / per;
    assert.ok(Math.abs(highest / source.RangeMax! - 1) < 1e-9, where);
  }
  assert.deepEqual(found, { 0: 90, 1: 2 });
});

Deno.test("every bit of a bit field has a meaning in canboat: none of its values is kept back", reading, () => {
  const bitFields = canboatFields().filter(({ source }) => source.FieldType === "BITLOOKUP");
  assert.equal(bitFields.length, 30);
  for (const { where, source, field } of bitFields) {
    assert.equal(field.type, "bits", where);
    assert.equal(source.RangeMax, 2 ** field.bits! - 1, where);
  }
});

Deno.test("what a field is compared with is canboat's match", reading, () => {
  const matches = canboatFields().filter(({ where, source, field }) => {
    assert.equal(field.match, source.Match, where);
    return field.match !== undefined;
  });
  assert.ok(matches.length > 800);
});

Deno.test("units are canboat's, but for dates and times, which read as text", reading, () => {
  for (const { where, source, field } of canboatFields()) {
    assert.equal(field.unit, ["DATE", "TIME"].includes(source.FieldType) ? undefined : source.Unit, where);
  }
});

Deno.test("every type of canboat's has a row of the type that it is", () => {
  const expected: [number, string, FieldSpec][] = [
    [126996, "productInformation", { name: "model_id", type: "text", bits: 256, fill: "@ " }],
    [126998, "configurationInformation", { name: "installation_description1", type: "lau" }],
    [130816, "sonichubTrack", { name: "text", type: "lz", bits: 256 }],
    [130820, "fusionZoneName", { name: "name", type: "lz" }],
    [126992, "systemTime", { name: "date", type: "date", bits: 16 }],
    [126992, "systemTime", { name: "time", type: "time", bits: 32, per: 10_000 }],
    [127489, "engineParametersDynamic", { name: "total_engine_hours", bits: 32, unit: "s" }],
    [127489, "engineParametersDynamic", {
      name: "discrete_status1",
      type: "bits",
      bits: 16,
      table: "ENGINE_STATUS_1",
    }],
    [60928, "isoAddressClaim", {
      name: "device_function",
      type: "indirect",
      bits: 8,
      table: "DEVICE_FUNCTION",
      by: "device_class",
    }],
    [59904, "isoRequest", { name: "pgn", type: "pgn", bits: 24 }],
    [126983, "alert", { name: "data_source_network_id_name", type: "hex", bits: 64 }],
    [130833, "maretronVesselDataRecorderStatus", { name: "memory_used", type: "hex", bits: 64 }],
    [129029, "gnssPositionData", { name: "latitude", bits: 64, signed: true, per: 1e16, unit: "deg" }],
    [129045, "userDatum", { name: "scale", type: "float", bits: 32, unit: "ppm" }],
    [129808, "dscCallInformation", { name: "dsc_message_address", type: "decimal", bits: 40 }],
    [129797, "aisBinaryBroadcastMessage", {
      name: "binary_data",
      type: "binary",
      by: "number_of_bits_in_binary_data_field",
    }],
    [126208, "nmeaRequestGroupFunction", { name: "parameter", type: "index", bits: 8 }],
    [126208, "nmeaRequestGroupFunction", { name: "value", type: "variable" }],
    [126208, "nmeaReadFieldsGroupFunction", {
      name: "industry_code",
      type: "enum",
      bits: 3,
      table: "INDUSTRY_CODE",
      proprietary: true,
    }],
    [130824, "bGKeyValueData", { name: "key", type: "key", bits: 12, table: "BANDG_KEY_VALUE" }],
    [130824, "bGKeyValueData", { name: "length", type: "length", bits: 4 }],
    [130824, "bGKeyValueData", { name: "value", type: "value" }],
  ];
  for (const [pgn, id, field] of expected) assert.deepEqual(fieldNamed(pgn, id, field.name!), field);
});

Deno.test("every repeating set of canboat is a group, its count field is never null", reading, () => {
  let groups = 0;
  for (const { source, layout } of canboatPairs()) {
    const sizes = [source.RepeatingFieldSet1Size, source.RepeatingFieldSet2Size].filter((size) => size !== undefined);
    const counts = [source.RepeatingFieldSet1CountField, source.RepeatingFieldSet2CountField]
      .flatMap((order) => order === undefined ? [] : snakeCase(source.Fields[order - 1]!.Id));
    const found = layout.fields.flatMap((item) => "group" in item ? [item] : []);
    assert.deepEqual(found.map(({ group }) => group), ["list", "list2"].slice(0, sizes.length), source.Id);
    assert.deepEqual(found.map(({ fields }) => fields.length), sizes, source.Id);
    assert.deepEqual(found.flatMap(({ count }) => count ?? []), counts, source.Id);
    assert.deepEqual(flat(layout).flatMap(({ name, always }) => always ? name : []), counts, source.Id);
    groups += found.length;
  }
  assert.equal(groups, 47);
});

Deno.test("sets begin where canboat says: both of a field reply, one with a field behind it, one without a count", () => {
  const shape = (pgn: number, id: string) =>
    layoutNamed(pgn, id).fields.map((item) =>
      "group" in item ? [item.group, item.count, ...item.fields.map(({ name }) => name)] : item.name
    ).slice(-4);
  assert.deepEqual(shape(126208, "nmeaReadFieldsReplyGroupFunction"), [
    "number_of_selection_pairs",
    "number_of_parameters",
    ["list", "number_of_selection_pairs", "selection_parameter", "selection_value"],
    ["list2", "number_of_parameters", "parameter", "value"],
  ]);
  assert.deepEqual(shape(130571, "libraryDataGroup").slice(-2), [
    ["list", "id_count", "id_type", "id", "name"],
    "artist",
  ]);
  assert.deepEqual(shape(126464, "pgnListTransmitAndReceive"), ["function_code", ["list", undefined, "pgn"]]);
});

Deno.test("every table that a field or a key names is there, and every name is there once", () => {
  const namesOf = (rows: string[][]) => rows.map(([name]) => name);
  const all = [definitions.tables, definitions.indirect, definitions.keys].flatMap(namesOf);
  assert.equal(new Set(all).size, all.length);
  const keyed = definitions.keys.flatMap(([, text]) => Object.values<FieldSpec>(JSON.parse(text!)));
  for (const { type, table, name } of [...layouts.flatMap(({ layout }) => flat(layout)), ...keyed]) {
    if (table === undefined) continue;
    const kind = type === "indirect" ? definitions.indirect : type === "key" ? definitions.keys : definitions.tables;
    assert.ok(namesOf(kind).includes(table), `${name}: ${table}`);
  }
});

Deno.test("tables hold every label of canboat's", reading, () => {
  const tables = new Map(definitions.tables.map(([name, text]) => [name, JSON.parse(text!)]));
  assert.equal(tables.size, canboat!.LookupEnumerations.length + canboat!.LookupBitEnumerations.length);
  for (const { Name, EnumValues } of canboat!.LookupEnumerations) {
    assert.deepEqual(tables.get(Name), Object.fromEntries(EnumValues.map((each) => [each.Value, each.Name])), Name);
    assert.equal(Object.keys(tables.get(Name)).length, EnumValues.length, `${Name}: a code twice`);
  }
  for (const { Name, EnumBitValues } of canboat!.LookupBitEnumerations) {
    assert.deepEqual(tables.get(Name), Object.fromEntries(EnumBitValues.map((each) => [each.Bit, each.Name])), Name);
  }
  const indirect = new Map(definitions.indirect.map(([name, text]) => [name, JSON.parse(text!)]));
  for (const { Name, EnumValues } of canboat!.LookupIndirectEnumerations) {
    for (const each of EnumValues) assert.equal(indirect.get(Name)[each.Value1][each.Value2], each.Name, Name);
  }
});

Deno.test("keys say what the value after them is", reading, () => {
  const keys = new Map(definitions.keys.map(([name, text]) => [name, JSON.parse(text!)]));
  for (const { Name, EnumFieldTypeValues } of canboat!.LookupFieldTypeEnumerations) {
    assert.equal(Object.keys(keys.get(Name)).length, EnumFieldTypeValues.length, Name);
    for (const { name, value } of EnumFieldTypeValues) assert.equal(keys.get(Name)[value].name, name, Name);
  }
  const simnet = keys.get("SIMNET_KEY_VALUE");
  assert.deepEqual(simnet[0], { name: "Heading Offset", bits: 16, per: 10_000, unit: "rad" });
  assert.deepEqual(simnet[41], { name: "Timezone offset", bits: 16, times: 60, unit: "s" });
  const typed = [...keys.values()].flatMap((table) => Object.values<FieldSpec>(table)).filter(({ type }) => type);
  assert.deepEqual(Map.groupBy(typed, ({ type }) => type).get("bits")?.map(({ table }) => table), [
    "SIMNET_ALERT_BITFIELD",
  ]);
  assert.equal(typed.filter(({ type }) => type === "enum").length, 5);
});

Deno.test("the table of manufacturers has codes of 11 bits", () => {
  const [, text] = definitions.tables.find(([name]) => name === "MANUFACTURER_CODE")!;
  const codes = Object.keys(JSON.parse(text!)).map(Number);
  assert.ok(codes.length > 250);
  assert.ok(codes.every((code) => code >= 0 && code < 2 ** 11));
});
