import assert from "node:assert/strict";
import { SENTENCES } from "../../src/integrations/nmea0183/sentences.ts";
import { MAX_SENTENCE_CHARS } from "../../src/integrations/nmea0183/line.ts";
import { idsOf, parseSentences, PYTHON_NMEA, rad, TestFeed } from "../support/nmea0183.ts";

const KNOT = 1852 / 3600;

/** What a boat sends: PGN and fields. */
const BOAT: readonly [number, Record<string, unknown>][] = [
  [129025, { latitude: -54.5054321, longitude: -10.2754321 }],
  [129026, { cog_reference: "true", cog: rad(282.2), sog: 6.1 * KNOT }],
  [129029, {
    days_since_1970: 20455,
    seconds_today: 3723.5,
    latitude: -54.5054321,
    longitude: -10.2754321,
    altitude: 3.8,
    gnss_type: 0,
    gnss_method: 2,
    num_svs: 9,
    hdop: 0.75,
    pdop: 1.34,
    geoidal_sep: 40.1,
    num_ref_stations: 0,
  }],
  [129539, { desired_mode: 3, actual_mode: 2, hdop: 0.75, vdop: 1.1, tdop: 1 }],
  [129540, {
    range_residual_mode: 0,
    sats_in_view: 5,
    satellites: [[5, 2], [12, 1], [13, 2], [15, 5], [18, 0]].map(([prn, status]) => ({
      prn,
      status,
      elevation: rad(30),
      azimuth: rad(359.8),
      snr: 40,
    })),
  }],
  [127250, { heading: rad(275), heading_reference: "magnetic" }],
  [127251, { rate: rad(-20) / 60 }],
  [127258, { source: "true", variation: rad(4.3) }],
  [128259, { speed_water: 6.8 * KNOT }],
  [128267, { depth: 21.2, offset: 0.55 }],
  [128275, { log: 1852 * 2598, trip_log: 1852 * 2 }],
  [130306, { wind_speed: 10 * KNOT, wind_angle: rad(315), wind_reference: "apparent" }],
  [130306, { wind_speed: 8 * KNOT, wind_angle: rad(300), wind_reference: "true_water" }],
  [130306, { wind_speed: 9 * KNOT, wind_angle: rad(215), wind_reference: "true_north" }],
  [130310, { water_temperature: 288.15, outside_temperature: 273.15 - 12.5, atmospheric_pressure: 101_200 }],
  [130313, { instance: 0, humidity_source: "outside", actual_humidity: 65 }],
  [127257, { pitch: rad(-2), roll: rad(12) }],
  [127488, { engine_instance: 0, engine_speed: 2200 }],
  [127488, { engine_instance: 1, engine_speed: 2150 }],
  [127245, { instance: 0, position: rad(-5) }],
  [127508, { instance: 0, voltage: 12.6, current: -3.5 }],
  [127505, { instance: 1, fluid_type: 1, level: 60, capacity: 200 }],
  [129283, { xte_mode: 0, nav_term: 0, xte: -185.2 }],
  [129284, {
    distance_to_wp: 1852 * 3,
    bearing_reference: "true",
    perp_crossed: 0,
    arrival_circle_entered: 1,
    calc_type: 0,
    bearing_origin_to_dest: rad(120),
    bearing_position_to_dest: rad(121),
    origin_wp_number: 4,
    dest_wp_number: 5,
    dest_latitude: -54.25,
    dest_longitude: -10.5,
    wp_closing_velocity: 5 * KNOT,
  }],
  [129285, {
    start_rps: 0,
    route_id: 1,
    navigation_direction: 0,
    supplementary_data: 0,
    route_name: "HOME",
    waypoints: [{ id: 4, name: "A*B,C" }, { id: 5, name: "KIEL LIGHT" }].map((each) => ({
      ...each,
      latitude: -54.25,
      longitude: -10.5,
    })),
  }],
  [129291, { set_reference: "True", set: rad(90), drift: 1.5 * KNOT }],
  [127237, { heading_reference: "True", heading_to_steer_course: rad(278.6) }],
];

/** What pynmea2 must read: names and values of fields. Text compares as text, a number within half a step. */
const EXPECTED: Record<string, Record<string, string | number>[]> = {
  RMC: [{
    ...{ status: "A", latitude: -54.5054321, longitude: -10.2754321, spd_over_grnd: 6.1, true_course: 282.2 },
    ...{ timestamp: "010203.50", datestamp: "020126", mag_variation: 4.3, mag_var_dir: "E", mode_indicator: "D" },
  }],
  GGA: [{
    ...{ latitude: -54.5054321, longitude: -10.2754321, gps_qual: "2", num_sats: "09", horizontal_dil: 0.75 },
    ...{ altitude: 3.8, geo_sep: 40.1 },
  }],
  GLL: [{ latitude: -54.5054321, longitude: -10.2754321, status: "A", timestamp: "010203.50" }],
  VTG: [{ true_track: 282.2, mag_track: 277.9, spd_over_grnd_kts: 6.1, spd_over_grnd_kmph: 11.3 }],
  ZDA: [{ timestamp: "010203.50", day: "02", month: "01", year: "2026" }],
  GSA: [{
    mode: "A",
    mode_fix_type: "3",
    sv_id01: "05",
    sv_id02: "13",
    sv_id03: "15",
    sv_id04: "",
    pdop: 1.34,
    vdop: 1.1,
  }],
  GSV: [
    {
      num_messages: "2",
      msg_num: "1",
      num_sv_in_view: "05",
      sv_prn_num_1: "05",
      elevation_deg_1: 30,
      azimuth_1: "000",
    },
    { msg_num: "2", sv_prn_num_1: "18", snr_1: 40 },
  ],
  HDG: [{ heading: 275, variation: 4.3, var_dir: "E" }],
  HDM: [{ heading: 275 }],
  HDT: [{ heading: 279.3 }],
  ROT: [{ rate_of_turn: -20, status: "A" }],
  DBT: [{ depth_feet: 69.55, depth_meters: 21.2, depth_fathoms: 11.59 }],
  DPT: [{ depth: 21.2, offset: 0.55 }],
  DBS: [{ depth_meter: 21.75 }],
  VHW: [{ heading_true: 279.3, heading_magnetic: 275, water_speed_knots: 6.8, water_speed_km: 12.6 }],
  VLW: [{ trip_distance: 2598, trip_distance_reset: 2 }],
  MWV: [
    { wind_angle: 315, reference: "R", wind_speed: 10, wind_speed_units: "N", status: "A" },
    { wind_angle: 300, reference: "T", wind_speed: 8, wind_speed_units: "N", status: "A" },
  ],
  MWD: [{ direction_true: 215, direction_magnetic: 210.7, wind_speed_knots: 9, wind_speed_meters: 4.63 }],
  VWR: [{ deg_r: 45, l_r: "L", wind_speed_kn: 10 }],
  VWT: [{ wind_angle_vessel: 60, direction: "L", wind_speed_knots: 8 }],
  MTW: [{ temperature: 15, units: "C" }],
  MTA: [{ temperature: -12.5, units: "C" }],
  MMB: [{ inches: 29.884, bar: 1.012 }],
  MDA: [{ b_pressure_bar: 1.012, air_temp: -12.5, water_temp: 15, rel_humidity: "65", direction_true: 215 }],
  RPM: [{ engine_no: "2", speed: 2200, source: "E" }, { engine_no: "1", speed: 2150 }],
  RSA: [{ rsa_starboard: -5, rsa_starboard_status: "A", rsa_port_status: "V" }],
  APB: [{
    ...{ cross_track_err_mag: 0.1, dir_steer: "R", arr_circle_entered: "A", perp_passed: "V", bearing_to_dest: 120 },
    ...{ bearing_type: "T", dest_waypoint_id: "KIEL LI", bearing_pres_dest: 121, heading_to_dest: 121 },
  }],
  RMB: [{
    ...{ status: "A", cross_track_error: 0.1, cte_correction_dir: "R", origin_waypoint_id: "A B C", dest_range: 3 },
    ...{ dest_lat: "5415.0000", dest_lat_dir: "S", dest_true_bearing: 121, dest_velocity: 5 },
  }],
  BWC: [{ true_track: 121, mag_track: 116.7, range_next: 3, waypoint_name: "KIEL LI", lon_next: "01030.0000" }],
  BWR: [],
  XTE: [{ cross_track_err_dist: 0.1, correction_dir: "R" }],
  VDR: [{ deg_t: 90, deg_m: 85.7, current: 1.5 }],
  HSC: [{ heading_true: 278.6, heading_magnetic: 274.3 }],
};
const TALKERS = new Set(["RMC", "GGA", "GLL", "VTG", "ZDA", "GSA", "GSV", "APB", "RMB", "BWC", "XTE"]);
/** Transducers of the boat: type, value, unit, name. */
const TRANSDUCERS = [
  ...["A,-2.0,D,PTCH", "A,12.0,D,ROLL", "P,1.01200,B,Barometer", "C,-12.5,C,TempAir", "C,15.0,C,TempWater"],
  ...["H,65.0,P,OUTSIDE#0", "U,12.60,V,BATTERY#0", "I,-3.5,A,BATTERY#0", "V,60.0,P,FRESHWATER#1"],
];

/** Half a step of the coarsest fields: a tenth of a degree or knot; positions have 1/10 000 minute. */
const TOLERANCE = 0.0501;
const POSITION_TOLERANCE = 1e-4 / 60;

function speaking(options?: ConstructorParameters<typeof TestFeed>[0]): TestFeed {
  const feed = new TestFeed(options);
  for (const [pgn, fields] of BOAT) feed.say(pgn, fields);
  return feed;
}

Deno.test("every sentence is parsed by pynmea2 with the values of the boat", PYTHON_NMEA, async () => {
  using feed = speaking();
  const parsed = Map.groupBy(await parseSentences(feed.lines()), ({ type }) => type);
  for (const [type, expected] of Object.entries(EXPECTED)) {
    const found = parsed.get(type) ?? [];
    assert.equal(found.length, expected.length, type);
    for (const [index, fields] of expected.entries()) {
      const { talker, values } = found[index]!;
      assert.equal(talker, TALKERS.has(type) ? "GP" : "II", type);
      for (const [name, value] of Object.entries(fields)) {
        const what = `${type} ${name}: ${values[name]}`;
        if (typeof value === "string") assert.equal(values[name], value, what);
        else {
          const tolerance = /itude$/.test(name) ? POSITION_TOLERANCE : TOLERANCE;
          assert.ok(Math.abs(Number(values[name]) - value) <= tolerance, `${what}, expected ${value}`);
        }
      }
    }
  }
  assert.deepEqual(
    (parsed.get("XDR") ?? []).flatMap(({ values: { data } }) => inFours(data as string[])),
    TRANSDUCERS,
  );
  assert.deepEqual(new Set([...Object.keys(EXPECTED), "XDR"]), new Set(SENTENCES.map(({ id }) => id)));
});

function inFours(data: readonly string[]): string[] {
  return Array.from({ length: data.length / 4 }, (_, index) => data.slice(4 * index, 4 * index + 4).join(","));
}

Deno.test("without a cross-track error there is nothing to steer by", () => {
  using feed = new TestFeed();
  for (const [pgn, fields] of BOAT) if (pgn !== 129283) feed.say(pgn, fields);
  const ids = idsOf(feed.lines());
  assert.deepEqual(ids.filter((id) => ["APB", "RMB", "XTE", "BWC"].includes(id)), ["BWC"]);
});

Deno.test("a plotter that has no active waypoint makes no sentence of a leg", () => {
  using feed = new TestFeed();
  feed.say(129283, {});
  feed.say(129284, {});
  assert.deepEqual(feed.lines(), []);
});

Deno.test("an engine keeps its number when the other one falls silent", () => {
  using feed = new TestFeed();
  const engines = () => feed.lines().filter((line) => line.includes("RPM")).map((line) => line.split(",")[2]);
  feed.say(127488, { engine_instance: 0, engine_speed: 2200 });
  feed.say(127488, { engine_instance: 1, engine_speed: 2150 });
  assert.deepEqual(engines(), ["2", "1"]);
  for (let index = 0; index < 20; index++) {
    feed.clock.advance(500);
    feed.say(127488, { engine_instance: 0, engine_speed: 2200 });
  }
  assert.deepEqual(engines(), ["2"]);
});

Deno.test("course and speed without a position are valid", () => {
  using feed = new TestFeed();
  feed.say(129026, { sog: 3, cog: 1, cog_reference: "true" });
  assert.match(feed.lines().find((line) => line.includes("VTG")) ?? "", /,K,A\*/);
});

Deno.test("AIS goes on when the NAME of the receiver becomes known", () => {
  using feed = new TestFeed();
  const reports = () => feed.lines().filter((line) => line.startsWith("!AIVDM")).length;
  const fields = { message_id: 1, user_id: 211_000_000, latitude: 54, longitude: 10 };
  feed.say(129038, fields, 9);
  assert.equal(reports(), 1);
  feed.claim(9);
  feed.clock.advance(2000);
  feed.say(129038, fields, 9);
  assert.equal(reports(), 1);
  feed.say(129038, fields, 10);
  assert.equal(reports(), 0, "a copy of another receiver");
});

Deno.test("a rhumb line leg gives BWR instead of BWC", () => {
  using feed = speaking();
  const [, leg] = BOAT.find(([pgn]) => pgn === 129284)!;
  feed.say(129284, { ...leg, calc_type: 1 });
  assert.deepEqual(idsOf(feed.lines()).filter((id) => id.startsWith("BW")), ["BWR"]);
});

Deno.test("no sentence is longer than 82 characters, and one talker can be set for all", () => {
  using feed = speaking({ talker: "EC" });
  const lines = feed.lines();
  for (const line of lines) {
    assert.match(line, /^\$EC[A-Z]{3},[^$*!\\]*\*[0-9A-F]{2}\r\n$/);
    assert.ok(line.length <= MAX_SENTENCE_CHARS, line);
  }
  assert.ok(lines.length > 30);
});

Deno.test("stale values stop their sentences; those of the position go on without it, with status V", () => {
  using feed = speaking();
  assert.ok(feed.lines().some((line) => line.includes("RMC") && line.includes(",A,5430.3259,S,")));
  feed.clock.advance(120_000);
  const lines = feed.lines();
  assert.deepEqual(lines.map((line) => line.slice(0, -5)), [
    "$GPRMC,,V,,,,,,,,,,N",
    "$GPGGA,,,,,,0,,,,,,,,",
    "$GPGLL,,,,,,V,N",
  ]);
});

Deno.test("a GNSS device without a fix makes the position invalid", () => {
  using feed = speaking();
  const [, gnss] = BOAT.find(([pgn]) => pgn === 129029)!;
  feed.say(129029, { ...gnss, gnss_method: 0 });
  const [rmc, gga] = feed.lines();
  assert.match(rmc!, /^\$GPRMC,[\d.]+,V,,,,,/);
  assert.match(gga!, /^\$GPGGA,[\d.]+,,,,,0,/);
});

Deno.test("a simulated or estimated position is not valid, and a satellite without azimuth has none", () => {
  for (const [gnss_method, status] of [[1, "A"], [2, "A"], [6, "V"], [8, "V"]] as const) {
    using feed = speaking();
    const [, gnss] = BOAT.find(([pgn]) => pgn === 129029)!;
    feed.say(129029, { ...gnss, gnss_method });
    assert.match(feed.lines()[0]!, new RegExp(`^\\$GPRMC,[\\d.]+,${status},5430`), `${gnss_method}`);
  }
  using feed = speaking();
  feed.say(129540, { sats_in_view: 1, satellites: [{ prn: 5, elevation: 0.5, status: 1 }] });
  assert.match(feed.lines().find((line) => line.includes("GSV")) ?? "", /,01,05,29,,\*/);
});

Deno.test("a satellite that is not tracked, or below the horizon, has no field out of range", () => {
  using feed = speaking();
  const satellites = [{ prn: 5, elevation: -0.1, azimuth: 1, snr: -1, status: 0 }, { prn: 6, elevation: 0, snr: 0 }];
  feed.say(129540, { sats_in_view: 2, satellites });
  assert.match(feed.lines().find((line) => line.includes("GSV")) ?? "", /,02,05,,057,,06,00,,00\*/);
});

Deno.test("each sentence is sent at its own interval, and missed ones are not caught up", () => {
  using feed = new TestFeed({ everyMs: { HDM: 200, MTW: 2000 } });
  const count = new Map<string, number>();
  const run = (rounds: number) => {
    for (let i = 0; i < rounds; i++) {
      feed.say(127250, { heading: 1, heading_reference: "magnetic" });
      feed.say(130310, { water_temperature: 288 });
      for (const id of idsOf(feed.lines())) count.set(id, (count.get(id) ?? 0) + 1);
      feed.clock.advance(50);
    }
  };
  run(200);
  assert.deepEqual(Object.fromEntries(count), { HDG: 10, HDM: 50, MDA: 10, MTW: 5, XDR: 10 });
  feed.clock.advance(10_000);
  run(1);
  assert.deepEqual(Object.fromEntries(count), { HDG: 11, HDM: 51, MDA: 11, MTW: 6, XDR: 11 });
});

Deno.test("values out of range are left out, and never make a line that is too long", () => {
  using feed = new TestFeed();
  feed.say(129025, { latitude: 200, longitude: -200 });
  feed.say(129029, {
    ...{ days_since_1970: 20455, seconds_today: 0, latitude: 54, longitude: 10, gnss_method: 1, gnss_type: 0 },
    ...{ altitude: 5e12, geoidal_sep: -2e7, hdop: 300, num_svs: 250 },
  });
  feed.say(128275, { log: 4e9, trip_log: 4e9 });
  for (const line of feed.lines()) {
    assert.ok(line.length <= MAX_SENTENCE_CHARS, line);
    assert.ok(!/NaN|Infinity|undefined|e\+/.test(line), line);
  }
});
