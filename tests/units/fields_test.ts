import assert from "node:assert/strict";
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };
import {
  decode,
  describePgn,
  type FieldDescription,
  fieldsOfPayload,
  labelsOfPayload,
  listPgns,
} from "../../src/pgn/mod.ts";
import { OVERLAY_DEFINITIONS } from "../../src/pgn/overlay.ts";
import { fieldTexts, readUnit, UNIT_SYSTEMS, unitsOf, type UnitSystem, valueText } from "../../src/units/mod.ts";
import { displayFormatOf } from "../../src/units/display_format.ts";
import * as units from "../../src/units/mod.ts";

interface Place {
  at: string;
  field: FieldDescription;
}

function* everyField(): Generator<Place> {
  for (const { pgn } of listPgns()) {
    for (const { id, fields } of describePgn(pgn)?.layouts ?? []) {
      for (const field of fields.flatMap((each): FieldDescription[] => "fields" in each ? each.fields : [each])) {
        yield { at: `PGN ${pgn} ${id} ${field.name}`, field };
      }
    }
  }
}

/** Every unit of the definitions, those of values behind keys included. */
function* everyUnit(): Generator<{ at: string; unit: string }> {
  for (const { at, field: { unit, key_units } } of everyField()) {
    if (unit !== undefined) yield { at, unit };
    for (const each of Object.values(key_units ?? {})) yield { at, unit: each };
  }
  // Whatever the catalogue shows of them: the rows themselves.
  for (const [, unit] of JSON.stringify(definitions).matchAll(/\\"unit\\":\\"([^"\\]+)\\"/g)) {
    if (unit !== undefined) yield { at: "definitions.gen.json", unit };
  }
}

/** The fields of a payload as a person reads them. */
function textOf(pgn: number, hex: string, system: UnitSystem = "nautical"): string {
  const payload = Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
  const [decoded, fields] = [decode(pgn, payload), fieldsOfPayload(pgn, payload)];
  assert.ok(decoded && fields);
  return fieldTexts(decoded, { fields, system }).map(({ name, text }) => `${name} ${text}`).join(", ");
}

Deno.test("how values are laid out for a terminal is no part of the package's units", () => {
  assert.deepEqual(Object.keys(units).filter((name) => /look/i.test(name)), []);
});

Deno.test("every unit that a definition has is known, and has a look in each system", () => {
  const units = new Set<string>();
  for (const { at, unit } of everyUnit()) {
    units.add(unit);
    assert.ok(readUnit(unit), `${at}: ${unit}`);
    for (const system of ["nautical", "metric"] as const) {
      assert.ok(displayFormatOf({ name: "any", unit }, system), `${at}: ${unit}`);
    }
  }
  assert.ok(units.size >= 30, `${units.size} units`);
});

Deno.test("every measured field of every PGN is shown with a unit, in each system and at each end of its range", () => {
  let shown = 0;
  for (const { at, field } of everyField()) {
    const { name, unit, min, max, resolution } = field;
    if (unit === undefined) continue;
    for (const system of UNIT_SYSTEMS) {
      for (const value of [min ?? -1, 0, max ?? 1]) {
        const text = valueText(value, { name, unit }, { system, resolution });
        assert.match(
          text,
          /^-?\d.*[A-Za-z%°φ)]$|^\d\d\d\d-\d\d-\d\d$|^[+-]\d+:\d\d$/,
          `${at}: ${value} ${unit} is "${text}"`,
        );
        assert.ok(!/NaN|Infinity|undefined|e[+-]?\d\d? \w+ °/.test(text), `${at}: ${value} ${unit} is "${text}"`);
        shown++;
      }
    }
  }
  assert.ok(shown > 3000);
});

/** Fields of the overlay that are numbers in JSON where canboat has a table, and stay numbers for people as well. */
const NO_CODES = new Set(["isoAddressClaim unique_number"]);

Deno.test("no field of the overlay shows people a number where canboat has a label at the same bits", () => {
  const rows = new Map(definitions.pgns.map((row) => [Number(row[0]), String(row[4])]));
  const without: string[] = [];
  for (const { pgn, id, fields } of OVERLAY_DEFINITIONS) {
    const layouts: { fields: Row[] }[] = JSON.parse(rows.get(pgn) ?? "[]");
    const coded = new Set(
      layouts.flatMap((each) => placed(each.fields)).filter(({ row }) => row.table).map(({ at }) => at),
    );
    for (const { at, row } of placed(fields as Row[])) {
      const isNumber = (row.type ?? "number") === "number" && row.unit === undefined && row.name !== undefined;
      const hasWords = row.label_table ?? row.bit_table ?? row.indirect_table;
      if (isNumber && coded.has(at) && hasWords === undefined) without.push(`${id} ${row.name}`);
    }
  }
  assert.deepEqual(without.filter((each) => !NO_CODES.has(each)), []);
});

interface Row {
  name?: string;
  type?: string;
  bits?: number;
  repeat?: number;
  unit?: string;
  table?: string;
  label_table?: string;
  bit_table?: string;
  indirect_table?: object;
  group?: string;
  fields?: Row[];
}

/** Fields with first bit and width; those of a group within it. */
function placed(rows: readonly Row[], prefix = ""): { at: string; row: Row }[] {
  const found: { at: string; row: Row }[] = [];
  let bit = 0;
  for (const row of rows) {
    if (row.fields) return [...found, ...placed(row.fields, "group ")];
    found.push({ at: `${prefix}${bit} ${row.bits}`, row });
    if (row.bits === undefined) break;
    bit += row.bits * (row.repeat ?? 1);
  }
  return found;
}

Deno.test("a skipper reads knots, degrees with their reference, degrees and minutes, °C, bar and hPa, miles and litres", () => {
  assert.equal(textOf(127250, "ff1027ff7fff7ffd"), "heading 057.3°M");
  assert.equal(textOf(129026, "fffc1027f401ffff"), "cog 057.3°T, sog 9.7 kn");
  assert.equal(
    textOf(130306, "0126023930fa"),
    "sid 1, wind_speed 10.7 kn, wind_angle 71° starboard, wind_reference apparent",
  );
  assert.equal(textOf(130306, "ff2602f0c0f8"), "wind_speed 10.7 kn, wind_angle 283.0°T");
  assert.equal(textOf(130306, "ff2602f0c0fa"), "wind_speed 10.7 kn, wind_angle 77° port, wind_reference apparent");
  assert.equal(textOf(129025, "b5bf6120d6b2e7f5"), "latitude 54°19.662′N, longitude 016°56.189′W");
  assert.equal(textOf(128267, "ffee030000f4010a"), "depth 10.1 m, offset 0.5 m, range 100 m");
  assert.equal(textOf(130310, "ffb571ffff9503ff"), "water_temperature 17.9 °C, atmospheric_pressure 917 hPa");
  assert.equal(textOf(128275, "ffffffffffff40420f0064000000"), "log 539.96 nm, trip_log 100 m");
  assert.equal(
    textOf(127489, "002c01ae0d6e71f404f6ff80ee3600ffffffffff0300000032ff"),
    "engine_instance Single Engine or Dual Engine Port, oil_pressure 0.30 bar, oil_temperature 77.1 °C, " +
      "temperature 17.2 °C, alternator_potential 12.68 V, fuel_rate -1.0 L/h, total_engine_hours 1000.0 h, " +
      "discrete_status_1 Check Engine + Over Temperature, discrete_status_2 none, percent_engine_load 50 %",
  );
});

Deno.test("in SI units a person reads the numbers of the JSON, each with its unit", () => {
  assert.equal(textOf(127250, "ff1027ff7fff7ffd", "si"), "heading 1 rad, heading_reference magnetic");
  assert.equal(textOf(129025, "b5bf6120d6b2e7f5", "si"), "latitude 54.3276981°, longitude -16.9364778°");
});

Deno.test("metric units are km/h for the boat, m/s for the wind, and decimal degrees", () => {
  assert.equal(textOf(129026, "fffc1027f401ffff", "metric"), "cog 057.3°T, sog 18.0 km/h");
  assert.equal(textOf(130306, "ff2602f0c0f8", "metric"), "wind_speed 5.5 m/s, wind_angle 283.0°T");
  assert.equal(textOf(129025, "b5bf6120d6b2e7f5", "metric"), "latitude 54.32770°N, longitude 16.93648°W");
});

Deno.test("days are dates, seconds of a day are UTC, and a local time has its offset", () => {
  assert.equal(
    textOf(126992, "00f0204e00008c1c"),
    "sid 0, time_source GPS, days_since_1970 2024-10-04, seconds_today 13:18:13 UTC",
  );
  assert.equal(textOf(129033, "204e00e1f5057800"), "date 2024-10-04, time 02:46:40 UTC, local_offset +02:00");
});

Deno.test("codes are labels for people, in lists and by another field, too; the number stays where none is known", () => {
  assert.match(textOf(127505, "1519d0070000ffff"), /^instance 5, fluid_type Water, /);
  assert.match(textOf(127505, "9519d0070000ffff"), /^instance 5, fluid_type 9, /);
  assert.equal(textOf(127501, "0004ffffffffffff"), "instance 0, indicators (1 Off, 2 On, 3-4 Off, 5-28 Unavailable)");
  const claim = textOf(60928, "050090cb0091789c");
  assert.match(claim, /device_function Ownship Position \(GNSS\), device_class Navigation,/);
});

Deno.test("labels of a payload stand where its numbers are, and nowhere else", () => {
  const payload = Uint8Array.of(0x15, 0x19, 0xd0, 7, 0, 0, 0xff, 0xff);
  assert.deepEqual(labelsOfPayload(127505, payload, decode(127505, payload) ?? {}), { fluid_type: "Water" });
  const heading = Uint8Array.of(0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd);
  assert.equal(labelsOfPayload(127250, heading, decode(127250, heading) ?? {}), undefined);
});

Deno.test("units are read in the spellings that people use, and a unit is never two quantities", () => {
  for (
    const [text, quantity] of [
      ["kn", "speed"],
      ["KTS", "speed"],
      ["deg", "angle"],
      ["°", "angle"],
      ["C", "temperature"],
      ["nm", "length"],
      ["l/h", "flow"],
      ["hpa", "pressure"],
      ["%", "ratio"],
    ]
  ) {
    assert.equal(readUnit(String(text))?.quantity, quantity, `${text}`);
  }
  assert.equal(readUnit("parsec"), undefined);
  assert.deepEqual(unitsOf("speed"), ["m/s", "kn", "km/h", "mph"]);
});

Deno.test("a value that a key announces is shown in the unit of its key", () => {
  assert.match(textOf(130824, "7d999d202401"), /\{key Wind Angle to Mast, length 2, value 1\.7°\}$/);
});
