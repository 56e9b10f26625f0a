import assert from "node:assert/strict";
import type { Device } from "../../src/frame/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import type { DeviceAt, WhereFrame } from "../../src/where/mod.ts";
import { parseWhere } from "../support/where.ts";

const WIND = Uint8Array.of(0x01, 0x26, 0x02, 0x39, 0x30, 0x02, 0xff, 0xff);
const FRAME: WhereFrame = {
  seq: 12,
  pgn: 130306,
  src: 3,
  dst: 255,
  prio: 2,
  bus: "can1",
  decoded: decode(130306, WIND),
};
const DEVICES: Record<string, Partial<Device>> = {
  "can1/3": { manufacturer: "Garmin", manufacturer_code: 229, model_id: "GNX Wind", name: "0x00a1b2c3d4e5f601" },
  "can0/3": { manufacturer: "Furuno", device_instance: 4, device_class: 60, device_function: 145 },
};
const deviceAt: DeviceAt = (bus, src) => DEVICES[`${bus}/${src}`];

function matches(text: string, frame: Partial<WhereFrame> = {}): boolean {
  return parseWhere(text).test({ ...FRAME, ...frame }, deviceAt);
}

/** Each expression beside what it answers. */
function expect(answers: Record<string, boolean>, frame: Partial<WhereFrame> = {}): void {
  for (const [text, answer] of Object.entries(answers)) assert.equal(matches(text, frame), answer, text);
}

Deno.test("where: fields of the header compare as numbers, the bus as a text", () => {
  expect({
    "pgn == 130306": true,
    "pgn != 130306": false,
    "pgn == 0x1FD02": true,
    "src < 4": true,
    "src < 3": false,
    "src <= 3": true,
    "dst > 254": true,
    "dst >= 256": false,
    "prio == 2.0": true,
    "seq == 1.2e1": true,
    "seq > -1": true,
    'bus == "can1"': true,
    "bus == 'CAN1'": true,
    'bus != "can1"': false,
    "bus == null": false,
  });
  assert.ok(parseWhere("bus == null").test({ seq: 1, pgn: 1, src: 1, dst: 255, prio: 3 }));
});

Deno.test("where: or binds less than and, that less than not, and parentheses bind most", () => {
  expect({
    "pgn == 130306 or pgn == 1 and pgn == 2": true,
    "(pgn == 130306 or pgn == 1) and pgn == 2": false,
    "pgn == 130306 || pgn == 1 && pgn == 2": true,
    "not pgn == 1 and src == 3": true,
    "not (pgn == 1 and src == 3)": true,
    "!pgn == 130306 || src == 3": true,
    "not not src == 3": true,
    "!!(src == 3)": true,
    "src == 3 AND NOT dst == 3 Or pgn == 0": true,
    "src==3&&dst==255": true,
  });
});

Deno.test("where: decoded fields go by the names of the JSON, in SI units", () => {
  expect({
    "wind_speed == 5.5": true,
    "wind_speed > 5.5": false,
    "wind_speed > 5.49 and wind_speed < 5.51": true,
    "decoded.wind_speed == 5.5": true,
    'wind_reference == "apparent"': true,
    'wind_reference == "Apparent"': true,
    "wind_reference != 'apparent'": false,
    'wind_reference contains "PAR"': true,
    'wind_reference contains "true"': false,
    'wind_reference in ["true_north", "apparent"]': true,
    'wind_reference not in ["true_north", "apparent"]': false,
    "wind_speed in [1, 5.5]": true,
    "wind_speed in [1, 2]": false,
  });
});

Deno.test("where: `decoded.` reaches a field that is called as one of the header", () => {
  expect({ "decoded.pgn == 7": true, "pgn == 7": false, "decoded.1st_telecommand == 3": true }, {
    decoded: { pgn: 7, "1st_telecommand": 3 },
  });
});

Deno.test("where: a comparison with null is false, != included, and == null asks for it", () => {
  const decoded = { depth: null, label: null };
  for (const operator of ["==", "!=", "<", "<=", ">", ">="]) {
    expect({ [`depth ${operator} 3`]: false, [`missing ${operator} 3`]: false }, { decoded });
    expect({ [`label ${operator} "a"`]: false, [`not label ${operator} "a"`]: true }, { decoded });
    for (const nothing of [null, undefined]) expect({ [`depth ${operator} 3`]: false }, { decoded: nothing });
  }
  expect({
    "depth == null": true,
    "depth != null": false,
    "missing == null": true,
    "missing.deeper == null": true,
    "depth in [3, null]": true,
    "depth in [3, 4]": false,
    "depth not in [3, 4]": true,
    'label contains "a"': false,
    "not depth > 3": true,
  }, { decoded });
  expect({ "depth == null": true, "depth != null": false }, { decoded: null });
  expect({ "wind_speed == null": false, "wind_speed != null": true });
});

Deno.test("where: a lookup compares by its name with a text, by its id with a number, and its parts can be named", () => {
  const decoded = { register: { id: 4095, name: "State of Charge" }, other: { id: 769 } };
  expect({
    'register == "state of charge"': true,
    "register == 4095": true,
    "register == 0xFFF": true,
    "register != 4095": false,
    'register.name == "State of Charge"': true,
    "register.id >= 4095": true,
    'register.name contains "charge"': true,
    'register in ["x", "State of Charge"]': true,
    "register == null": false,
    "other == 769": true,
    "other.name == null": true,
    'other != "State of Charge"': false,
  }, { decoded });
});

Deno.test("where: a list matches when any of its elements does, at any depth", () => {
  const decoded = {
    indicators: [0, 1, null, 3],
    flags: ["low_oil", "over_temperature"],
    empty: [],
    satellites: [{ prn: 4, snr: 30, tags: ["a"] }, { prn: 9, snr: null, tags: ["b", "c"] }],
  };
  expect({
    "indicators == 3": true,
    "indicators == 2": false,
    "indicators != 3": true,
    "indicators == null": true,
    'flags == "low_oil"': true,
    'flags contains "oil"': true,
    'flags contains "water"': false,
    "indicators contains 1": true,
    "empty == null": false,
    "empty != null": false,
    "not empty == 1": true,
    "satellites.prn == 9": true,
    "satellites.snr > 40": false,
    "satellites.snr == null": true,
    "satellites.tags in ['c']": true,
    "satellites.tags.deeper == null": true,
  }, { decoded });
});

Deno.test("where: values of different kinds never match, but a text that reads as a number compares as one", () => {
  const decoded = { number: 5, text: "five", mmsi: "265547250", name: "0x00000000000000ff" };
  expect({
    'number == "5"': false,
    'number != "5"': false,
    "text == 5": false,
    "text != 5": false,
    "text < 5": false,
    "number == true": false,
    "number != true": false,
    "mmsi == 265547250": true,
    "mmsi > 265000000": true,
    'mmsi == "265547250"': true,
    "mmsi contains 265": true,
    "name == 0xFF": true,
    'text < "g"': true,
    'text > "G"': false,
    'text == "f\\ive"': true,
  }, { decoded });
  expect({ "on == true": true, "on != true": false, "on == false": false }, { decoded: { on: true } as never });
});

Deno.test("where: what every object has is no field of a payload", () => {
  expect({ "constructor == null": true, "a.__proto__ != null": false, "toString.name == null": true }, {
    decoded: { a: { b: 1 } },
  });
});

Deno.test("where: devices are looked up by bus and address", () => {
  expect({
    'src.manufacturer == "garmin"': true,
    "src.manufacturer_code == 229": true,
    'src.model_id contains "wind"': true,
    'src.name == "00A1B2C3D4E5F601"': true,
    'src.name == "0xa1b2c3d4e5f601"': true,
    'src.name in ["00A1B2C3D4E5F601"]': true,
    "dst.manufacturer == null": true,
    'dst.manufacturer != "Garmin"': false,
    "src.instance == null": true,
  });
  expect({
    'src.manufacturer == "Furuno"': true,
    "src.instance == 4": true,
    "src.class == 60": true,
    "src.device_function == 145": true,
  }, { bus: "can0" });
  expect({ 'dst.manufacturer == "Garmin"': true }, { dst: 3 });
});

Deno.test("where: without a device table nobody is known", () => {
  assert.equal(parseWhere('src.manufacturer == "Garmin"').test(FRAME), false);
});

Deno.test("where: what the header or the device rules out is never decoded", () => {
  const frame: WhereFrame = {
    ...FRAME,
    get decoded(): never {
      throw new Error("decoded");
    },
  };
  assert.equal(parseWhere("heading > 1 and pgn == 127250").test(frame, deviceAt), false);
  assert.equal(parseWhere("heading > 1 or (x == 1 and y == 2) or src == 3").test(frame, deviceAt), true);
  assert.equal(parseWhere('heading > 1 and src.manufacturer == "Furuno"').test(frame, deviceAt), false);
  assert.throws(() => parseWhere("wind_speed > 1 and pgn == 130306").test(frame, deviceAt), /^Error: decoded$/);
});

/** A payload as a frame of its PGN. */
function frameOf(pgn: number, ...bytes: number[]): Partial<WhereFrame> {
  return { pgn, decoded: decode(pgn, Uint8Array.from(bytes)) };
}

Deno.test("where: a number with a unit is compared in that unit, one without in that of the JSON", () => {
  expect({
    "wind_speed > 10 kn": true,
    "wind_speed > 10.7kn": false,
    "wind_speed > 19 km/h and wind_speed < 20 km/h": true,
    "wind_speed > 10": false,
    "wind_speed == 5.5": true,
    "wind_speed == 10.69 kn": true,
    "wind_speed != 10.69 kn": false,
    "wind_speed == 10.6 kn": false,
    "wind_speed in [9 kn, 10.69 kn]": true,
    "wind_speed not in [9 kn, 10.69 kn]": false,
    "wind_angle > 70 deg and wind_angle < 71°": true,
    "depth > 1 m": false,
  });
  expect(
    { "actual_temperature > 20 °C": true, "actual_temperature > 68 F": true, "actual_temperature > 21 C": false },
    {
      ...frameOf(130312, 0, 0, 0, 0x9f, 0x72, 0xff, 0xff, 0xff),
    },
  );
  expect({ "total_engine_hours >= 1000 h": true, "oil_pressure < 0.5 bar": true, "fuel_rate < 0 L/h": true }, {
    ...frameOf(127489, 0, 44, 1, 0xae, 13, 0x6e, 0x71, 0xf4, 4, 0xf6, 0xff, 0x80, 0xee, 0x36, 0),
  });
});

Deno.test("where: a field of several PGNs is compared in the unit that it has in the PGN of the frame", () => {
  // Seconds in PGN 127506, minutes in PGN 130969.
  const [detailed, charger] = [
    frameOf(127506, 0, 0, 0, 50, 50, 120, 0, 0xff, 0xff),
    frameOf(130969, 0x31, 60, 0, 0xff, 0xff, 0xff, 0xff, 0xff),
  ];
  assert.deepEqual([detailed.decoded?.time_remaining, charger.decoded?.time_remaining], [7200, 60]);
  expect({ "time_remaining == 2 h": true, "time_remaining == 120 min": true, "time_remaining > 2 h": false }, detailed);
  expect({ "time_remaining == 1 h": true, "time_remaining == 3600 s": true, "time_remaining > 1 h": false }, charger);
});

Deno.test("where: a text is compared with the label of a number that is a code, a number with the number", () => {
  expect(
    {
      'fluid_type == "water"': true,
      'fluid_type != "Water"': false,
      'fluid_type contains "ate"': true,
      'fluid_type in ["Fuel", "Water"]': true,
      "fluid_type == 1": true,
      'fluid_type == "Fuel"': false,
    },
    frameOf(127505, 0x15, 0x19, 0xd0, 7, 0, 0, 0xff, 0xff),
  );
  expect(
    { 'discrete_status_1 == "Over Temperature"': true, 'discrete_status_1 == "Low Oil Pressure"': false },
    frameOf(127489, 0, ...Array.from({ length: 19 }, () => 0xff), 3, 0, 0, 0, 50, 0xff),
  );
});
