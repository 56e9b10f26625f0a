import assert from "node:assert/strict";
import type { CanboatField } from "../../scripts/definitions/canboat.ts";
import { fieldSpec, snakeCase } from "../../scripts/definitions/fields.ts";
import { fractionOf } from "../../scripts/definitions/fraction.ts";
import { layoutOf } from "../../scripts/definitions/layouts.ts";

Deno.test("snake_case splits where camelCase does: not before digits, and once before an acronym's last letter", () => {
  const expected = {
    sid: "sid",
    waterTemperature: "water_temperature",
    discreteStatus1: "discrete_status1",
    controller1State: "controller1_state",
    "420MaData": "420_ma_data",
    "010VData": "010_v_data",
    "1stTelecommand": "1st_telecommand",
    "3AxisOffset": "3_axis_offset",
    nmea2000Version: "nmea2000_version",
    antennaAltitudeFor2dMode: "antenna_altitude_for2d_mode",
    dscExpansionFieldData: "dsc_expansion_field_data",
    scheduleALoadShedPriority: "schedule_a_load_shed_priority",
    channelBBandwidth: "channel_b_bandwidth",
    PID: "pid",
    EpsilonNa: "epsilon_na",
  };
  for (const [id, name] of Object.entries(expected)) assert.equal(snakeCase(id), name);
});

Deno.test("two fields of one name are refused", () => {
  const field = (Order: number, Id: string) => ({ Order, Id, FieldType: "NUMBER", BitLength: 8 });
  const pgn = { PGN: 1, Id: "twins", Type: "Single", Description: "", Complete: true };
  const make = (other: string) =>
    layoutOf({ ...pgn, Fields: [field(1, "oneName"), field(2, other)] }, { description: "", interval: null });
  assert.throws(() => make("OneName"), /twins: two fields are named one_name/);
  assert.equal(make("otherName").fields.length, 2);
});

Deno.test("a type, a condition or an offset that nobody knows is refused", () => {
  const make = (more: Partial<CanboatField>) =>
    fieldSpec({ Order: 1, Id: "odd", FieldType: "NUMBER", BitLength: 8, ...more }, () => "");
  assert.throws(() => make({ FieldType: "QUATERNION" }), /unknown field type QUATERNION/);
  assert.throws(() => make({ Condition: "FullMoon" }), /unknown condition FullMoon/);
  assert.throws(() => make({ Offset: -3, RangeMin: -128 }), /range does not begin at the offset -3/);
  assert.throws(() => make({ Offset: 0.5, RangeMin: 0.5 }), /offset 0.5 is no whole number of steps/);
  assert.throws(() => make({ FieldType: "DATE", Resolution: 0.1 }), /a scale for a field of type DATE/);
});

Deno.test("resolutions are exact fractions, also those that canboat cut to six digits", () => {
  const expected: [number, number, number][] = [
    [1, 1, 1],
    [60, 60, 1],
    [4096, 4096, 1],
    [0.0001, 1, 1e4],
    [0.25, 1, 4],
    [0.05, 1, 20],
    [0.00032, 1, 3125],
    [3.125e-8, 1, 32e6],
    [1e-16, 1, 1e16],
    [0.0078125, 1, 2 ** 7],
    [0.000244141, 1, 2 ** 12],
    [6.10352e-5, 1, 2 ** 14],
    [0.000488281, 1, 2 ** 11],
    [1.19209e-7, 1, 2 ** 23],
    [3.63798e-12, 1, 2 ** 38],
    [2.77778e-9, 1, 36e7],
  ];
  for (const [resolution, times, per] of expected) {
    assert.deepEqual(fractionOf(resolution), { times, per }, String(resolution));
  }
});

Deno.test("a resolution that no fraction explains is refused", () => {
  for (const resolution of [1.23457e-5, 0.333333, 0, -0.1, NaN]) assert.throws(() => fractionOf(resolution));
});

Deno.test("codes are how far below its top a range ends, left out where that is the width's default or too far", () => {
  const codes = (BitLength: number, RangeMax: number, more: Partial<CanboatField> = {}) =>
    fieldSpec({ Order: 1, Id: "level", FieldType: "NUMBER", BitLength, RangeMax, ...more }, () => "").codes;
  const below = (bits: number) => [0, 1, 2, 3, 4].map((distance) => codes(bits, 2 ** bits - 1 - distance));
  const none = undefined;
  assert.deepEqual(below(1).slice(0, 2), [none, 1]);
  for (const bits of [2, 3]) assert.deepEqual(below(bits).slice(0, 4), [0, none, 2, none], `${bits} bits`);
  for (const bits of [4, 7]) assert.deepEqual(below(bits), [0, 1, none, none, none], `${bits} bits`);
  for (const bits of [8, 32, 48]) assert.deepEqual(below(bits), [0, 1, 2, none, none], `${bits} bits`);
  assert.equal(codes(16, 3.2766, { Signed: true, Resolution: 0.0001 }), 1);
  assert.equal(codes(8, 1.51, { Offset: 1, RangeMin: 1, Resolution: 0.002 }), 0);
  assert.equal(codes(16, 65534.5), none, "no whole raw value");
  assert.equal(codes(64, 2 ** 63 / 1e6, { Signed: true, Resolution: 1e-6 }), none, "more digits than a range has");
});
