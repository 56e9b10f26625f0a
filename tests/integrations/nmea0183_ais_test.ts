import assert from "node:assert/strict";
import { assembleRecording } from "../../src/can/mod.ts";
import { AIS_PGNS, aisReport } from "../../src/integrations/nmea0183/ais.ts";
import { MAX_SENTENCE_CHARS } from "../../src/integrations/nmea0183/line.ts";
import { decode, type Decoded, encode } from "../../src/pgn/mod.ts";
import { readAnalyzed } from "../support/analyzer.ts";
import { type ParsedSentence, parseSentences, PYTHON_NMEA } from "../support/nmea0183.ts";
import { readAll, sampleBytes, SAMPLES } from "../support/recordings.ts";

const KNOTS = 3600 / 1852;
const DEGREES = 180 / Math.PI;

/** Fields of pyais by ours: with the factor and half a step of AIS. */
const NUMBERS: readonly (readonly [theirs: string, ours: readonly string[], factor: number, tolerance: number])[] = [
  ["mmsi", ["user_id", "source_id"], 1, 0],
  ["lat", ["latitude"], 1, 1.01 / 1_200_000],
  ["lon", ["longitude"], 1, 1.01 / 1_200_000],
  ["speed", ["sog"], KNOTS, 0.0501],
  ["course", ["cog"], DEGREES, 0.0501],
  ["heading", ["heading", "true_heading"], DEGREES, 0.501],
  ["second", ["time_stamp"], 1, 0],
  ["imo", ["imo_number"], 1, 0],
  ["draught", ["draught"], 1, 0.0501],
];
const TEXTS = [["shipname", ["name"]], ["callsign", ["callsign"]], ["destination", ["destination"]]] as const;
/** What pyais says of a field that is not available. */
const ABSENT: Readonly<Record<string, number>> = {
  lat: 91,
  lon: 181,
  speed: 102.3,
  course: 360,
  heading: 511,
  second: 60,
};

interface Told {
  pgn: number;
  decoded: Decoded;
  parsed: ParsedSentence;
}

/** All AIS messages of the recordings, as pyais reads what we make of them. */
async function tellRecordings(): Promise<Told[]> {
  const messages: { pgn: number; decoded: Decoded }[] = [];
  for (const { file } of SAMPLES) {
    const { items } = await readAll([sampleBytes(file)]);
    for await (const { pgn, data, offset, length } of assembleRecording(streamOf(items))) {
      if (!AIS_PGNS.includes(pgn)) continue;
      const decoded = decode(pgn, data.subarray(offset, offset + length));
      if (decoded) messages.push({ pgn, decoded });
    }
  }
  for (const { pgn, hex } of await readAnalyzed()) {
    const decoded = AIS_PGNS.includes(pgn) ? decode(pgn, Uint8Array.fromHex(hex)) : undefined;
    if (decoded) messages.push({ pgn, decoded });
  }
  return await tell(messages);
}

async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield await Promise.resolve(item);
}

async function tell(messages: readonly { pgn: number; decoded: Decoded }[]): Promise<Told[]> {
  const made = messages.flatMap((message, index) => {
    const report = aisReport(message.pgn, { decoded: message.decoded, group: index % 10 });
    return report ? [{ ...message, lines: report.lines }] : [];
  });
  for (const line of made.flatMap(({ lines }) => lines)) {
    assert.match(line, /^!AIVD[MO],\d,\d,\d?,[AB]?,[0-W`-w]+,[0-5]\*[0-9A-F]{2}\r\n$/);
    assert.ok(line.length <= MAX_SENTENCE_CHARS, line);
  }
  const parsed = await parseSentences(made.flatMap(({ lines }) => lines));
  assert.equal(parsed.length, made.length, "one message each");
  return made.map(({ pgn, decoded }, index) => ({ pgn, decoded, parsed: parsed[index] ?? assert.fail() }));
}

function first(decoded: Decoded, names: readonly string[]): unknown {
  return names.map((name) => decoded[name]).find((value) => value !== undefined && value !== null);
}

/** A position without one of its parts, or out of range, is none. */
function hasPosition({ latitude, longitude }: Decoded): boolean {
  return Math.abs(Number(latitude ?? NaN)) <= 90 && Math.abs(Number(longitude ?? NaN)) <= 180;
}

function assertSame({ pgn, decoded, parsed: { values } }: Told): number {
  let compared = 0;
  for (const [theirs, names, factor, tolerance] of NUMBERS) {
    const said = values[theirs];
    const isPosition = theirs === "lat" || theirs === "lon";
    const ours = isPosition && !hasPosition(decoded) ? undefined : first(decoded, names);
    // The second of a base station's report is that of its time.
    if (said === undefined || said === null || (pgn === 129793 && theirs === "second")) continue;
    const what = `${pgn} ${theirs}: ${said}, ours ${ours}`;
    if (typeof ours === "number") {
      const turn = theirs === "course" || theirs === "heading" ? 360 : Infinity;
      const difference = Math.abs(Number(said) - ours * factor);
      assert.ok(Math.min(difference, turn - difference) <= tolerance + (pgn === 129798 ? 0.5 : 0), what);
      compared++;
    } else if (ours === undefined && theirs in ABSENT) assert.equal(Number(said), ABSENT[theirs], what);
  }
  for (const [theirs, names] of TEXTS) {
    const ours = first(decoded, names);
    if (typeof ours !== "string" || values[theirs] === undefined) continue;
    assert.equal(
      String(values[theirs]).trim(),
      ours.toUpperCase().replaceAll(/[^ -_]/g, "?").trim(),
      `${pgn} ${theirs}`,
    );
    compared++;
  }
  return compared;
}

Deno.test("pyais reads every AIS message of the recordings with our values", PYTHON_NMEA, async () => {
  const told = await tellRecordings();
  assert.ok(told.length > 60, `${told.length}`);
  const types = new Set(told.map(({ pgn }) => pgn));
  assert.ok(types.has(129038) && types.has(129039) && types.has(129794), [...types].join());
  const compared = told.reduce((sum, each) => sum + assertSame(each), 0);
  assert.ok(compared > 4 * told.length, `${compared} values of ${told.length} messages`);
});

Deno.test("a message with a number that is no MMSI becomes no sentence", () => {
  const report = (user_id: number) => aisReport(129038, { decoded: { message_id: 1, user_id }, group: 0 });
  assert.equal(report(999_999_999)?.lines.length, 1);
  assert.equal(report(1_429_864_732), undefined);
});

Deno.test(
  "positions at the ends of the earth, a long name and missing values are read by pyais as they are",
  PYTHON_NMEA,
  async () => {
    const EDGES: readonly Record<string, number | string>[] = [
      { latitude: 90, longitude: 180, sog: 0, cog: 0, heading: 0 },
      { latitude: -90, longitude: -180, sog: 52.6, cog: 6.2831, heading: 6.28 },
      { latitude: -0.00001, longitude: -179.9999999, cog: 3.14159 },
      {},
    ];
    const positions = EDGES.map((fields) => {
      const data = encode(129038, { message_id: 1, user_id: 244_000_001, ...fields });
      return { pgn: 129038, decoded: decode(129038, data) ?? assert.fail() };
    });
    const statics = {
      ...{ message_id: 5, user_id: 244_000_001, imo_number: 9_999_999, callsign: "PD1234", draught: 25.5 },
      ...{ name: "ABCDEFGHIJKLMNOPQRST", destination: "KIEL: LOCK_1", ship_length: 400, ship_beam: 60 },
    };
    const told = await tell([
      ...positions,
      { pgn: 129794, decoded: decode(129794, encode(129794, statics)) ?? assert.fail() },
    ]);
    for (const each of told) assertSame(each);
    assert.equal(told.at(-1)?.parsed.values.shipname, "ABCDEFGHIJKLMNOPQRST");
  },
);

/** A message with these fields as pyais reads what we make of it. */
function said(pgn: number, fields: Record<string, unknown>): { pgn: number; decoded: Decoded } {
  return { pgn, decoded: decode(pgn, encode(pgn, fields as Parameters<typeof encode>[1])) ?? assert.fail() };
}

Deno.test("pyais reads the radio status, vendor, mothership and name that the message has", PYTHON_NMEA, async () => {
  const state = 0x7_abcd;
  const [shipping, aircraft, base, classB, pleasure, tender, mark] = (await tell([
    said(129038, { message_id: 3, user_id: 244_000_001, communication_state: state }),
    // 19 bits as bytes, the lowest first.
    said(129798, { message_id: 9, user_id: 111_000_001, communication_state: "cdab07" }),
    said(129793, { message_id: 4, user_id: 2_440_001, communication_state: state }),
    said(129039, { message_id: 18, user_id: 244_000_001, communication_state: state, ais_comm_state: 0 }),
    said(129810, { message_id: 24, user_id: 244_000_001, vendor_id: "SRT1 A_", ship_length: 12, ship_beam: 4 }),
    said(129810, { message_id: 24, user_id: 982_440_001, mothership_mmsi: 244_123_456, ship_length: 12, ship_beam: 4 }),
    said(129041, { message_id: 21, user_id: 992_440_001, aton_name: "ABCDEFGHIJKLMNOPQRSTUVWXY" }),
  ])).map(({ parsed: { values } }) => values);
  for (const each of [shipping, aircraft, base, classB]) assert.equal(each?.radio, state, `type ${each?.msg_type}`);
  // "1 A_" in six-bit characters: 49, 32, 1 and 31; model 4 bits, serial number 20.
  const unit = ((49 * 64 + 32) * 64 + 1) * 64 + 31;
  assert.deepEqual([pleasure?.vendorid, pleasure?.model, pleasure?.serial], ["SRT", unit >> 20, unit & 0xf_ffff]);
  assert.deepEqual([pleasure?.to_stern, pleasure?.to_port], [12, 4]);
  assert.equal(tender?.mothership_mmsi, 244_123_456);
  assert.deepEqual([mark?.name, mark?.name_ext], ["ABCDEFGHIJKLMNOPQRST", "UVWXY"]);
});

Deno.test("a tender without a mothership has no size in its place", () => {
  const lines = (fields: Record<string, number>) =>
    aisReport(129810, { decoded: { message_id: 24, user_id: 982_440_001, ...fields }, group: 0 })?.lines;
  assert.deepEqual(lines({ ship_length: 12, ship_beam: 4, position_ref_bow: 5 }), lines({}));
});

Deno.test("the seconds of an ETA, which AIS does not have, change no bit", () => {
  const lines = (eta_time: number) =>
    aisReport(129794, { decoded: { message_id: 5, user_id: 244_000_001, eta_date: 20455, eta_time }, group: 0 })?.lines;
  assert.deepEqual(lines(45_015), lines(45_000));
  assert.notDeepEqual(lines(45_060), lines(45_000));
});

Deno.test("a number with more bits than its field is sent as not available", () => {
  const lines = (imo_number: number | undefined) =>
    aisReport(129794, { decoded: { message_id: 5, user_id: 244_000_001, imo_number }, group: 0 })?.lines;
  assert.deepEqual(lines(2 ** 30 + 7), lines(undefined));
  assert.notDeepEqual(lines(2 ** 30 - 1), lines(undefined));
});

Deno.test("own information that was not broadcast is an AIVDO without a channel", () => {
  const start = (ais_transceiver_info: string) =>
    aisReport(129038, { decoded: { message_id: 1, user_id: 244_000_001, ais_transceiver_info }, group: 0 })
      ?.lines[0]?.slice(0, 14);
  assert.deepEqual(
    ["channel_a_vdl", "channel_b_vdl", "channel_a_coupler", "channel_b_coupler", "own_information"].map(start),
    ["!AIVDM,1,1,,A,", "!AIVDM,1,1,,B,", "!AIVDO,1,1,,A,", "!AIVDO,1,1,,B,", "!AIVDO,1,1,,,1"],
  );
});
