/**
 * Payloads of real devices, from the samples of the canboat project (github.com/canboat/canboat, Apache-2.0), made again
 * of the fields in which the boat's devices speak, with the values that canboat's analyzer reads in them.
 */
import assert from "node:assert/strict";
import { encode, type Fields } from "../../src/pgn/mod.ts";
import { compass } from "../../src/simulator/navigation.ts";

type Sample = readonly [hex: string, pgn: number, fields: Fields];

const bytesOfState = (low: number, middle: number, high: number) => low | (middle << 8) | ((high & 7) << 16);
const pgnList = (...pgns: number[]) => pgns.map((pgn) => ({ pgn }));

const NETWORK: Sample[] = [
  ["ef04e0b300af78c0", 60928, {
    unique_number: 1263,
    manufacturer_code: 1439,
    device_instance: 0,
    device_function: 175,
    device_class: 60,
    system_instance: 0,
    industry_group: 4,
    arbitrary_address: 1,
  }],
  ["01ffffffff16f001", 59392, { control: "NAK", pgn: 126998 }],
  ["60ea9bccffffffff", 126993, {
    data_transmit_offset: 60,
    sequence_counter: 155,
    controller_1_state: 0,
    equipment_status: 0,
  }],
  ["02010201140150726564697457696e642044617461487562", 126998, {
    installation_description1: "",
    installation_description2: "",
    manufacturer_information: "PreditWind DataHub",
  }],
  ["0100e80000ea0000eb0000ec0000ee0000ef00d8fe0000ed0103ff01", 126464, {
    function_code: "Receive PGN list",
    list: pgnList(59392, 59904, 60160, 60416, 60928, 61184, 65240, 126208, 130819),
  }],
];

const NAVIGATION: Sample[] = [
  ["fff08450d00cfc03", 126992, { time_source: 0, days_since_1970: 20612, seconds_today: 6685 }],
  ["cb9aaf0cba15eba1", 129025, { latitude: 21.2835019, longitude: -157.8428998 }],
  ["fffcc3640700ffff", 129026, { cog_reference: "true", cog: 2.5795, sog: 0.07 }],
  ["ffd332003200ff7f", 129539, { desired_mode: 3, actual_mode: 2, hdop: 0.5, vdop: 0.5 }],
  ["16300b000000ffff", 129283, { sid: 22, xte_mode: 0, nav_term: 0, xte: 0.11 }],
  ["16b274000000c07c0225414c7708730800000000010000002ccc7e16f6f8b3f00100", 129284, {
    sid: 22,
    distance_to_wp: 298.74,
    bearing_reference: "true",
    perp_crossed: 0,
    arrival_circle_entered: 0,
    calc_type: 0,
    eta_date: 19521,
    eta_time: 62092,
    bearing_origin_to_dest: 0.2167,
    bearing_position_to_dest: 0.2163,
    origin_wp_number: 0,
    dest_wp_number: 1,
    dest_latitude: 37.7408556,
    dest_longitude: -25.6640778,
    wp_closing_velocity: 0.01,
  }],
  ["ff519cff7f5506fc", 127250, { heading: 4.0017, variation: 0.1621, heading_reference: "true" }],
  ["fffec20200ffffff", 127251, { rate: 0.00565594 }],
  ["ffe1a64c00a2feff", 127257, { yaw: -2.2815, pitch: 0.0076, roll: -0.035 }],
  ["fff755475506ffff", 127258, { source: 7, days_since_1970: 18261, variation: 0.1621 }],
  ["ffffff7ffc15ffff", 127245, { position: 0.5628 }],
  ["16a10000001e05ff", 128267, { sid: 22, depth: 1.61, offset: 1.31 }],
  ["ffffffffffff1b47b703f9bb0000", 128275, { log: 62_342_939, trip_log: 48_121 }],
  ["320000ffff00ffff", 128259, { sid: 50, speed_water: 0, speed_type: "paddle_wheel" }],
  ["ff3fffff7fffff0000ffffffffff7fff7fff7fffff", 127237, { heading_reference: "True", track: 0 }],
];

const MACHINERY: Sample[] = [
  ["00470cffff7fffff", 127488, { engine_instance: 0, engine_speed: 785.75 }],
  ["0b0000ffffb979460affffc8d3ea00ffffffffff00000000ffff", 127489, {
    engine_instance: 11,
    oil_pressure: 0,
    temperature: 311.61,
    alternator_potential: 26.3,
    fuel_rate: -0.1,
    total_engine_hours: 15_389_640,
    discrete_status_1: 0,
    discrete_status_2: 0,
    percent_engine_load: -1,
    percent_engine_torque: -1,
  }],
  // The real device leaves the six reserved bits zero; ours are ones.
  ["01fcffffffff00ff", 127493, { instance: 1, transmission_gear: "Forward", discrete_status1: 0 }],
  ["50ff7fbe110000ff", 127505, { instance: 0, fluid_type: 5, capacity: 454.2 }],
  ["20fa26b70c0000ff", 127505, { instance: 0, fluid_type: 2, level: 39.912, capacity: 325.5 }],
  ["00610a8f00c0756c", 127508, { sid: 108, instance: 0, voltage: 26.57, current: 14.3, temperature: 301.44 }],
  ["0317051100ffff5b", 127508, { sid: 91, instance: 3, voltage: 13.03, current: 1.7 }],
  ["0254f0ffffffffff", 127501, { instance: 2, indicators: [0, 1, 1, 1, 0, 0] }],
  // Raw register values: 12.72 V and -2.8 A.
  ["66990220f8040000", 61184, { manufacturer_code: 358, industry_code: 4, register: 0x2002, payload: 1272 }],
  ["66991c2010f5ffff", 61184, { manufacturer_code: 358, industry_code: 4, register: 0x201c, payload: -2800 >>> 0 }],
  ["8998ae000effffffff", 130823, {
    manufacturer_code: 137,
    industry_code: 4,
    sid: 174,
    instance: 0,
    source: "Exhaust Gas Temperature",
  }],
];

const WEATHER: Sample[] = [
  ["e6d1000878faffff", 130306, { sid: 230, wind_speed: 2.09, wind_angle: 3.0728, wind_reference: "apparent" }],
  ["ffffff6275fa03ff", 130310, { outside_temperature: 300.5, atmospheric_pressure: 101_800 }],
  ["b2417975b53af203", 130311, {
    sid: 178,
    temperature_source: "outside",
    humidity_source: "outside",
    temperature: 300.73,
    humidity: 60.116,
    atmospheric_pressure: 101_000,
  }],
  ["ff00016275ffffff", 130312, { instance: 0, temperature_source: "outside", actual_temperature: 300.5 }],
  ["170001b53aff7fff", 130313, { sid: 23, instance: 0, humidity_source: "outside", actual_humidity: 60.116 }],
  ["ff00000c8a0f00ff", 130314, { instance: 0, pressure_source: "atmospheric", pressure: 101_838 }],
  ["ff0001d49504ffff", 130316, { instance: 0, temperature_source: "outside", actual_temperature: 300.5 }],
];

/** Where the recorded report ends before the sequence id, ours says that it is not available: the last byte. */
const AIS: Sample[] = [
  ["120e348d0d04ae39fe64a9401cee97175c00060026ffff0074ffff", 129039, {
    message_id: 18,
    repeat_indicator: 0,
    user_id: 227357710,
    latitude: 47.3999716,
    longitude: -2.9774332,
    cog: 0.6039,
    sog: 0.92,
    position_accuracy: 0,
    raim: 1,
    time_stamp: 59,
    communication_state: bytesOfState(0x06, 0x00, 0x06),
    ais_transceiver_info: "own_information",
    regional_application: 0,
    regional_flags: 0,
    unit_type: 1,
    integrated_display: 0,
    dsc_flag: 1,
    band: 1,
    can_handle_msg22: 1,
    ais_mode: 0,
    ais_comm_state: 1,
  }],
  ["1847388c0e564c494547455240404040404040404040404040e0" + "ff", 129809, {
    message_id: 24,
    repeat_indicator: 0,
    user_id: 244070471,
    name: "VLIEGER",
  }],
  // Received on channel B (e1), for which there is no name: ours says channel A (e0).
  ["1819ae8c0e2554484146584546504535373338406e0028001e003200ffffffff03e0" + "ff", 129810, {
    message_id: 24,
    repeat_indicator: 0,
    user_id: 244100633,
    ship_type: 37,
    vendor_id: "THAFXEF",
    callsign: "PE5738",
    ship_length: 11,
    ship_beam: 4,
    position_ref_starboard: 3,
    position_ref_bow: 5,
    spare: 0,
  }],
  [
    "053a73960effffffff50473931383240474141535445524c414e44404040404040404040215c036e003200f80237434020491affff" +
    "40404040404040404040404040404040404040403de0",
    129794,
    {
      message_id: 5,
      repeat_indicator: 0,
      user_id: 244740922,
      callsign: "PG9182",
      name: "GAASTERLAND",
      ship_type: 33,
      ship_length: 86,
      ship_beam: 11,
      position_ref_starboard: 5,
      position_ref_bow: 76,
      eta_date: 17207,
      eta_time: 44_100,
      destination: "",
      ais_version_indicator: 1,
      dte: 0,
      ais_transceiver_info: "channel_a_vdl",
    },
  ],
  ["0133c3940e8e1f3b03e7b04b1f2d26910000dc0808ffffff7fc0f8" + "ff", 129038, {
    message_id: 1,
    repeat_indicator: 0,
    user_id: 244630323,
    latitude: 52.5054183,
    longitude: 5.420635,
    position_accuracy: 1,
    raim: 0,
    time_stamp: 11,
    cog: 3.7158,
    sog: 0,
    communication_state: bytesOfState(0xdc, 0x08, 0x00),
    ais_transceiver_info: "channel_b_vdl",
    nav_status: "under_way_using_engine",
  }],
];

for (const [group, samples] of Object.entries({ NETWORK, NAVIGATION, MACHINERY, WEATHER, AIS })) {
  Deno.test(`payloads: ${group.toLowerCase()} messages of real devices are made byte for byte`, () => {
    for (const [expected, pgn, fields] of samples) assert.equal(encode(pgn, fields).toHex(), expected, `${pgn}`);
  });
}

Deno.test("payloads: a direction just below the full turn does not round past it", () => {
  for (const angle of [2 * Math.PI - 1e-9, -1e-9]) {
    const payload = encode(129026, { cog: compass(angle) });
    assert.ok((payload[2]! | (payload[3]! << 8)) * 1e-4 < 2 * Math.PI);
  }
});
