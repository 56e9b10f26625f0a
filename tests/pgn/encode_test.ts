import assert from "node:assert/strict";
import { decode, encode, EncodeError, type Fields } from "../../src/pgn/mod.ts";

/** Fields, the error that they give, and the path it names. */
type Refusal = [pgn: number, fields: unknown, message: string, field: string];

function expectRefused([pgn, fields, message, field]: Refusal): void {
  assert.throws(() => encode(pgn, fields as Fields), (error) => {
    assert.ok(error instanceof EncodeError);
    assert.equal(error.message, message);
    assert.equal(error.field, field, message);
    return true;
  }, message);
}

/** Encodes, and decodes that again. */
function there(pgn: number, fields: Fields): ReturnType<typeof decode> {
  return decode(pgn, encode(pgn, fields));
}

Deno.test("fields in SI units and labels become the bytes of the standard, what is missing is not available", () => {
  const wind = encode(130306, { sid: 1, wind_speed: 5.5, wind_angle: 1.2345, wind_reference: "apparent" });
  assert.equal(wind.toHex(), "0126023930faffff");
  assert.equal(encode(130306, { wind_reference: 2, sid: null, wind_angle: undefined }).toHex(), "fffffffffffaffff");
  assert.equal(encode(127250, { deviation: 0.1 }).toHex(), "ffffffe803ff7fff");
});

Deno.test("numbers are rounded to the nearest step, halves away from zero", () => {
  const speed = (wind_speed: number) => there(130306, { wind_speed })?.wind_speed;
  assert.deepEqual([1.004, 1.006, 1.005, 0.285, -0.004, 655.344].map(speed), [1, 1.01, 1.01, 0.29, 0, 655.34]);
  assert.equal(there(127250, { variation: -0.00005 })?.variation, null, "−0.0001 rad is all ones, which reads as null");
  assert.equal(encode(127250, { variation: -0.0001 }).toHex(), "ffffffff7fffffff", "but is sent");
});

Deno.test("positions of 64 bits survive to within one step of a double", () => {
  for (const latitude of [48.1234567, -0.1 + 0.3, 1e-16, -89.99999999999999, 64.0000000000001]) {
    const back = there(129029, { latitude })?.latitude;
    assert.ok(typeof back === "number" && Math.abs(back - latitude) <= Math.abs(latitude) * Number.EPSILON);
  }
  assert.equal(encode(129029, { latitude: 48.1234567 }).subarray(7, 15).toHex(), "0086acfb49b0ad06");
});

Deno.test("a number outside the range of its field is refused with the range and the unit", () => {
  const refusals: Refusal[] = [
    [130306, { wind_speed: 700 }, "wind_speed: 700 is outside 0 to 655.34 m/s", "wind_speed"],
    [130306, { wind_speed: -0.01 }, "wind_speed: -0.01 is outside 0 to 655.34 m/s", "wind_speed"],
    [130306, { wind_speed: Infinity }, "wind_speed: Infinity is outside 0 to 655.34 m/s", "wind_speed"],
    [130306, { wind_speed: NaN }, "wind_speed: NaN is not a number", "wind_speed"],
    [130306, { wind_speed: "5.5" }, `wind_speed: "5.5" is not a number`, "wind_speed"],
    [130306, { wind_speed: [5.5] }, "wind_speed: a list is not a number", "wind_speed"],
    [130306, { sid: 255 }, "sid: 255 is outside 0 to 254", "sid"],
    [127250, { deviation: 3.2767 }, "deviation: 3.2767 is outside -3.2768 to 3.2766 rad", "deviation"],
    [129029, { latitude: 1000 }, "latitude: 1000 is outside -922.3372036854776 to 922.3372036854776 deg", "latitude"],
    [127252, { heave: 327.65 }, "heave: 327.65 is outside -327.68 to 327.64 m", "heave"],
    [127508, { voltage: 327.67 }, `voltage: 327.67 means "not available"`, "voltage"],
  ];
  refusals.forEach(expectRefused);
});

Deno.test("a label that a table does not have is refused with some that it has and the numbers that may be sent", () => {
  const labels = "true_north, magnetic_north, apparent, true_boat, true_water";
  const what = `is none of ${labels} and no number from 0 to 6`;
  expectRefused([130306, { wind_reference: "sideways" }, `wind_reference: "sideways" ${what}`, "wind_reference"]);
  expectRefused([130306, { wind_reference: 7 }, `wind_reference: 7 ${what}`, "wind_reference"]);
  expectRefused([130306, { wind_reference: 2.5 }, `wind_reference: 2.5 ${what}`, "wind_reference"]);
  assert.equal(there(130306, { wind_reference: 6 })?.wind_reference, 6);
});

Deno.test("an unknown PGN, a field that nobody knows, and a layout that is not there are refused", () => {
  const garmin = "distance_to_waypoint, eta_time, eta_date, waypoint_latitude, waypoint_longitude";
  const refusals: Refusal[] = [
    [99999, {}, "unknown PGN 99999", ""],
    [NaN, {}, "unknown PGN NaN", ""],
    [130306, null, "null is not an object of fields", ""],
    [130306, [1], "a list is not an object of fields", ""],
    [
      130306,
      { wind: 1 },
      `PGN 130306 has no field "wind"; it has sid, wind_speed, wind_angle, wind_reference`,
      "wind",
    ],
    [
      126720,
      { nonsense: 1 },
      `PGN 126720 has no field "nonsense"; garminNavigationToWaypoint, its closest layout, has ${garmin}`,
      "nonsense",
    ],
    [
      126720,
      { distance_to_waypoint: 1, eta_date: 1, destination_id: 1 },
      "PGN 126720 has no layout with all of these fields; garminNavigationToWaypoint, the closest one, has no " +
      `"destination_id"; it has ${garmin}`,
      "destination_id",
    ],
  ];
  refusals.forEach(expectRefused);
  assert.throws(() => encode(130306, {}, { layout: "x" }), {
    message: `PGN 130306 has no layout "x"; it has windData`,
  });
  assert.equal(encode(130306, { nonsense: undefined }).toHex(), "ffffffffffffffff");
});

Deno.test("the layout is one whose discriminators agree, which has every field and adds the fewest discriminators", () => {
  const layouts: [number, Fields, string][] = [
    [126720, { destination_id: 4 }, "e5f81207"],
    [126720, { distance_to_waypoint: 1 }, "e5f86106"],
    [126720, { manufacturer_code: "Fusion Electronics" }, "a399"],
    [126720, { manufacturer_code: 419 }, "a399"],
    [130820, { manufacturer_code: "Fusion Electronics", message_id: "Source", source: "AM" }, "a39902"],
    [130820, { frequency: 1 }, "a399"],
    [126208, { requested_pgn: 126996 }, "0014f001ffffffffffff00"],
    [126208, { function_code: 2, acknowledged_pgn: 127501, params: "00" }, "020df201ffff00"],
    [126208, { function_code: "Read Fields", pgn: 127501 }, "030df201ff0000"],
  ];
  for (const [pgn, fields, start] of layouts) {
    const hex = encode(pgn, fields).toHex();
    assert.ok(hex.startsWith(start), `${JSON.stringify(fields)}: ${hex}`);
  }
  const status = { manufacturer_code: "Simrad", industry_code: "Marine Industry", address: 13 };
  assert.equal(there(130850, status)?.command_type, undefined, "no autopilot command that nobody spoke of");
  assert.equal(encode(126208, {}, { layout: "nmeaCommandGroupFunction" }).toHex(), "01ffffffff00");
});

Deno.test("discriminators are filled in and must agree when they are given", () => {
  assert.equal(encode(61184, { register: { id: 4095 }, payload: 1 }).toHex(), "66f9ff0f01000000");
  assert.equal(encode(61184, { manufacturer_code: 358, register: 4095 }).toHex(), "66f9ff0fffffffff");
  expectRefused([
    61184,
    { manufacturer_code: 359, register: 1 },
    "manufacturer_code: 359 is not 358, which makes a payload victronBatteryRegister",
    "manufacturer_code",
  ]);
});

Deno.test("sets are counted; a count that is given must be right", () => {
  const satellites = [{ prn: 3, elevation: 0.5, snr: 40 }, { prn: 4 }];
  const expected = "01fd02038813ffffa00fffffff7fff04ff7fffffff7fffffff7fff";
  assert.equal(encode(129540, { sid: 1, range_residual_mode: 1, satellites }).toHex(), expected);
  assert.equal(encode(129540, { sid: 1, range_residual_mode: 1, sats_in_view: 2, satellites }).toHex(), expected);
  assert.equal(encode(129540, {}).toHex(), "ffff00");
  const set = "prn, elevation, azimuth, snr, range_residuals, status";
  const refusals: Refusal[] = [
    [129540, { sats_in_view: 3, satellites }, "sats_in_view: 3 is not the number of satellites, 2", "sats_in_view"],
    [129540, { sats_in_view: 1 }, "sats_in_view: 1 is not the number of satellites, 0", "sats_in_view"],
    [129540, { satellites: [{}, { prm: 3 }] }, `satellites[1] has no field "prm"; it has ${set}`, "satellites[1].prm"],
    [129540, { satellites: [{}, 3] }, "satellites[1]: 3 is not an object", "satellites[1]"],
    [129540, { satellites: 3 }, "satellites: 3 is not a list", "satellites"],
    [
      129540,
      { satellites: [{}, {}, { elevation: 9 }] },
      "satellites[2].elevation: 9 is outside -3.2768 to 3.2766 rad",
      "satellites[2].elevation",
    ],
    [
      129540,
      { satellites: Array(300).fill({}) },
      "satellites: 300 are given, at most 255 can be counted",
      "satellites",
    ],
  ];
  refusals.forEach(expectRefused);
});

Deno.test("what no message can carry is refused", () => {
  assert.equal(encode(129540, { satellites: Array(148).fill({}) }).length, 1779);
  const message = "PGN 129540 gets longer than 1785 bytes, the most a message carries";
  expectRefused([129540, { satellites: Array(149).fill({}) }, message, ""]);
  assert.equal(encode(126208, { function_code: 2, params: "00".repeat(1779) }).length, 1785);
  expectRefused([126208, { function_code: 2, params: "00".repeat(1780) }, message.replace("129540", "126208"), ""]);
});

Deno.test("repeated fields may be given in part", () => {
  assert.equal(encode(127501, { instance: 1, indicators: [1, 0, 3, 2] }).toHex(), "01b1ffffffffffff");
  assert.equal(encode(127502, { indicators: [null, 1] }).toHex(), "fff7ffffffffffff");
  expectRefused([127501, { indicators: [0, 4] }, "indicators[1]: 4 is outside 0 to 3", "indicators[1]"]);
  const many = Array(29).fill(0);
  expectRefused([127501, { indicators: many }, "indicators: 29 values are given, at most 28 fit", "indicators"]);
  expectRefused([127501, { indicators: "on" }, `indicators: "on" is not a list`, "indicators"]);
});

Deno.test("what is looked up is given by its number, with or without its name, or by its name", () => {
  const register = { id: 4095, name: "State of Charge" };
  for (const given of [register, { id: 4095 }, 4095, "State of Charge", { name: "State of Charge" }]) {
    assert.deepEqual(there(61184, { register: given })?.register, register);
  }
  const message = `register: "Voltage" is not the name of 4095, which is "State of Charge"`;
  expectRefused([61184, { register: { id: 4095, name: "Voltage" } }, message, "register"]);
});

Deno.test("texts are UTF-8, filled up as their readers expect, and never cut", () => {
  const product = encode(126996, { model_id: "Möwe", software_version: "1.0 " });
  assert.equal(product.length, 134);
  assert.equal(product.subarray(4, 12).toHex(), "4dc3b67765ffffff");
  assert.equal(decode(126996, product)?.software_version, "1.0 ");
  const ship = encode(129794, { name: "BOAT " });
  assert.equal(ship.subarray(9, 36).toHex(), "40".repeat(7) + "424f4154" + "40".repeat(16));
  const refusals: Refusal[] = [
    [126996, { model_id: "x".repeat(33) }, `model_id: "${"x".repeat(33)}" has 33 bytes, at most 32 fit`, "model_id"],
    [126996, { model_id: "a\0b" }, `model_id: "a\\u0000b" holds characters that would not be read back`, "model_id"],
    [126996, { model_id: "\ud800" }, `model_id: "\\ud800" holds characters that would not be read back`, "model_id"],
    [126996, { model_id: 5 }, "model_id: 5 is not a text", "model_id"],
  ];
  refusals.forEach(expectRefused);
});

Deno.test("texts with their length in front are single bytes or, beyond Latin-1, UTF-16", () => {
  const texts: [string, string][] = [
    ["", "0201"],
    ["Hi", "04014869"],
    ["Zoë", "06015a6fc3ab"],
    ["5 €", "080035002000ac20"],
    ["ends ", "0c0065006e0064007300" + "2000"],
    ["a\0b", "0800610000006200"],
  ];
  for (const [text, hex] of texts) {
    const payload = encode(126998, { manufacturer_information: text });
    assert.equal(payload.toHex(), "02010201" + hex, text);
    assert.equal(decode(126998, payload)?.manufacturer_information, text);
  }
  const long = "é".repeat(130);
  assert.throws(() => encode(126998, { manufacturer_information: long }), {
    message: `manufacturer_information: "${"é".repeat(40)}…" has 260 bytes, at most 253 fit`,
  });
  assert.equal(
    there(126998, { manufacturer_information: "x".repeat(250) + "€" })?.manufacturer_information?.valueOf(),
    "x".repeat(250) + "€",
  );
});

Deno.test("hex digits, dates, times and bits are given as they are decoded", () => {
  const now = { date: "2026-08-16", time: "23:59:59.5", local_offset: -5400 };
  assert.deepEqual(there(129033, now), now);
  const refusals: Refusal[] = [
    [129033, { date: "2026-02-30" }, `date: "2026-02-30" is not a date like 2026-08-16`, "date"],
    [129033, { date: 20000 }, "date: 20000 is not a date like 2026-08-16", "date"],
    [129033, { date: "2200-01-01" }, `date: "2200-01-01" is outside 1970-01-01 to 2149-06-03`, "date"],
    [129033, { time: "noon" }, `time: "noon" is not a time like 14:03:59.5`, "time"],
    [129033, { time: "-00:00:01" }, `time: "-00:00:01" is outside 00:00:00 to 119:18:16.7292`, "time"],
    [126208, { function_code: 2, params: "0" }, `params: "0" is not hex digits`, "params"],
    [60160, { data: "00".repeat(8) }, `data: "0000000000000000" has 8 bytes, at most 7 fit`, "data"],
  ];
  refusals.forEach(expectRefused);
  assert.equal(encode(60160, { sid: 1, data: "c0fFee" }).toHex(), "01c0ffeeffffffff");
});

Deno.test("bits are given by label or number", () => {
  const events = "windlass_operating_events";
  const given = { [events]: ["Sensor error", 5] };
  assert.equal(
    encode(128777, { sid: 0, ...given }, { layout: "anchorWindlassOperatingStatus" }).subarray(-1).toHex(),
    "8b",
  );
  const labels = "System error, Sensor error, No windlass motion detected, Retrieval docking distance reached, " +
    "End of rode reached";
  const what = `is none of ${labels} and no bit from 0 to 5`;
  expectRefused([128777, { [events]: [0, "Fire"] }, `${events}[1]: "Fire" ${what}`, `${events}[1]`]);
  expectRefused([128777, { [events]: [6] }, `${events}[0]: 6 ${what}`, `${events}[0]`]);
  expectRefused([128777, { [events]: 1 }, `${events}: 1 is not a list of bits`, events]);
});

Deno.test("floats and runs of decimal digits are given as they are decoded", () => {
  assert.equal(there(130321, { salinity: 0.1 })?.salinity, 0.1);
  const unit = "ppt";
  const message = `salinity: 1e+39 is outside -3.4028235e+38 to 3.4028235e+38 ${unit}`;
  expectRefused([130321, { salinity: 1e39 }, message, "salinity"]);
  const distress = { dsc_format: "Distress", mmsi_of_ship_in_distress: "2113456780" };
  assert.equal(there(129808, distress)?.mmsi_of_ship_in_distress, "2113456780");
  const field = "mmsi_of_ship_in_distress";
  const odd = `${field}: "211" is not an even number of decimal digits`;
  expectRefused([129808, { ...distress, [field]: "211" }, odd, field]);
  const many = `${field}: "211345678000" has more than 10 digits`;
  expectRefused([129808, { ...distress, [field]: "211345678000" }, many, field]);
});

Deno.test("a command's parameters are named by number or by name and sent in whole bytes, filled up with zeros", () => {
  const head = { function_code: 1, commanded_pgn: 127501, priority_setting: 8 };
  for (const parameter of [{ field: 3 }, { name: "indicator_2" }, { field: 3, name: "indicator_2" }]) {
    assert.equal(encode(126208, { ...head, params: [{ ...parameter, value: 1 }] }).toHex(), "010df201f8010301");
  }
  const text = [{ name: "installation_description2", value: "YD:VOLUME 60" }];
  const volume = encode(126208, { commanded_pgn: 126998, params: text });
  assert.equal(volume.toHex(), "0116f001ff01020e0159443a564f4c554d45203630");
  const one = (parameter: unknown) => ({ ...head, params: [parameter] });
  const names = "instance, " + Array.from({ length: 11 }, (_, index) => `indicator_${index + 1}`).join(", ");
  const refusals: Refusal[] = [
    [126208, { ...head, number_of_pairs: 2 }, "number_of_pairs: 2 is not the number of params, 0", "number_of_pairs"],
    [126208, one({ field: 77 }), "params[0].field: PGN 127501 has no field 77", "params[0].field"],
    [126208, one({ field: "3" }), `params[0].field: "3" is not a number`, "params[0].field"],
    [126208, one({ value: 3 }), "params[0]: has neither field nor name", "params[0]"],
    [126208, one({ field: 2, value: 9 }), "params[0].value: 9 is outside 0 to 3", "params[0].value"],
    [126208, one({ number: 2 }), `params[0] has no field "number"; it has field, name, value`, "params[0].number"],
    [126208, one(3), "params[0]: 3 is not an object", "params[0]"],
    [
      126208,
      one({ field: 1, name: "indicator_1" }),
      `params[0].name: "indicator_1" is not the name of field 1, which is "instance"`,
      "params[0].name",
    ],
    [
      126208,
      one({ name: "switch_1" }),
      `params[0].name: PGN 127501 has no field "switch_1"; it has ${names}, …`,
      "params[0].name",
    ],
    [
      126208,
      { commanded_pgn: 99999, params: [{ field: 1, value: 1 }] },
      "params: PGN 99999 is unknown, so that its fields have no numbers",
      "params",
    ],
  ];
  refusals.forEach(expectRefused);
});

Deno.test("pairs of number and value go by the PGN that is told before them", () => {
  const fields = { function_code: "Write Fields", pgn: 127501, unique_id: 1 };
  const list2 = [{ parameter: 3, value: 1 }, { parameter: 1, value: 0 }];
  const payload = encode(126208, { ...fields, list: [{ selection_parameter: 1, selection_value: 5 }], list2 });
  assert.equal(payload.toHex(), "050df20101010201050301" + "0100");
  assert.equal(there(126208, { ...fields, list2 })?.number_of_parameters, 2);
});

Deno.test("a value after a key is of the key's type, its length is worked out", () => {
  const list = [{ key: "Wind Speed Apparent", value: 5.5 }, { key: "Depth", value: 12.34 }, {
    key: 4000,
    value: "c0ffee",
  }];
  const payload = encode(130824, { list });
  assert.deepEqual(decode(130824, payload)?.list, [
    { key: "Wind Speed Apparent", length: 2, value: 5.5 },
    { key: "Depth", length: 4, value: 12.34 },
    { key: 4000, length: 3, value: "c0ffee" },
  ]);
  const one = (length: unknown, value: unknown) => ({ list: [{ key: 4000, length, value }] });
  const refusals: Refusal[] = [
    [130824, one(2, "c0ffee"), `list[0].value: "c0ffee" has 3 bytes, its length says 2`, "list[0].value"],
    [130824, one("2", "c0ff"), `list[0].length: "2" is not a number`, "list[0].length"],
    [130824, one(null, "c"), `list[0].value: "c" is not hex digits`, "list[0].value"],
    [
      130824,
      one(null, "00".repeat(16)),
      "list[0].value: 16 bytes are given, at most 15 can be counted",
      "list[0].value",
    ],
  ];
  refusals.forEach(expectRefused);
});

Deno.test("a run of bytes has its length counted in bits", () => {
  const message = { message_id: 8, source_id: 1 };
  const bits = (more: Fields) => there(129797, { ...message, ...more })?.number_of_bits_in_binary_data_field;
  assert.equal(bits({ binary_data: "c0ffee" }), 24);
  assert.equal(bits({ binary_data: "c0ffee", number_of_bits_in_binary_data_field: 19 }), 19);
  expectRefused([
    129797,
    { binary_data: "c0ffee", number_of_bits_in_binary_data_field: 16 },
    "number_of_bits_in_binary_data_field: 16 is not the length of binary_data, 24",
    "number_of_bits_in_binary_data_field",
  ]);
});
