import assert from "node:assert/strict";
import { assembleRecording, type RecordedItem, splitFastPacket } from "../../src/can/mod.ts";
import { pgnOfId, sourceOfId } from "../../src/frame/mod.ts";
import { AIS_PGNS } from "../../src/integrations/nmea0183/ais.ts";
import { decode, type Decoded, type DecodedValue, isFastPacket } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { RawClient } from "../support/gateway_clients.ts";
import { HeldPort } from "../support/held_port.ts";
import { START_US } from "../support/messages.ts";
import { type ParsedSentence, parseSentences, PYTHON_NMEA } from "../support/nmea0183.ts";
import { readAll, sampleBytes } from "../support/recordings.ts";

/** Recordings of several devices: a Raymarine bus with AIS, a GPS with satellites, and a boat with two of most sensors. */
const RECORDINGS = ["candump_sample3.txt", "candump_sample1_head.txt", "csv_mixed_susteranna_head.txt"];
const KNOTS = 3600 / 1852;
const DEGREES = 180 / Math.PI;
const MILES = 1 / 1852;
const CELSIUS = -273.15;
/** Half a step of a tenth. */
const HALF = 0.0501;
const WHOLE = 0.501;

const AIS = new Set(["VDM", "VDO"]);

/** A field of pynmea2; ours, with others of the same meaning; factor, tolerance and what is added. */
type Row = readonly [theirs: string, ours: string, factor?: number, tolerance?: number, offset?: number];
/** What a sentence takes from one message, which has one of these PGNs. */
type Part = readonly [pgns: readonly number[], ...rows: Row[]];

const POSITION: Part = [[129025, 129029], ["latitude", "latitude", 1, 1e-6], ["longitude", "longitude", 1, 1e-6]];
const TIME: Part = [[126992, 129029], ["timestamp", "seconds_today", 1, 0.0101]];
const MAGNETIC: Row = ["heading", "heading", DEGREES];
const temperature = (theirs: string): Part => [
  [130310, 130311, 130312, 130316],
  [theirs, "actual_temperature|temperature|water_temperature", 1, HALF, CELSIUS],
];

/** By sentence: its parts, each of one message. */
const PARTS: Readonly<Record<string, readonly Part[]>> = {
  RMC: [TIME, POSITION, [[129026], ["spd_over_grnd", "sog", KNOTS]]],
  GGA: [TIME, POSITION, [[129029], ["altitude", "altitude"], ["num_sats", "num_svs"], ["horizontal_dil", "hdop"]]],
  GLL: [TIME, POSITION],
  VTG: [[[129026], ["spd_over_grnd_kts", "sog", KNOTS], ["true_track|mag_track", "cog", DEGREES]]],
  ZDA: [TIME],
  GSV: [1, 2, 3, 4].map((n): Part => [
    [129540],
    [`sv_prn_num_${n}`, "prn", 1, 0],
    [`elevation_deg_${n}`, "elevation", DEGREES, WHOLE],
    [`azimuth_${n}`, "azimuth", DEGREES, WHOLE],
    [`snr_${n}`, "snr", 1, WHOLE],
  ]),
  GSA: [[[129539], ["vdop", "vdop"], ["hdop", "hdop"]], [[129029], ["pdop", "pdop"]]],
  HDG: [[[127250], MAGNETIC], [[127258], ["variation", "variation", DEGREES]]],
  HDM: [[[127250], MAGNETIC]],
  ROT: [[[127251], ["rate_of_turn", "rate", DEGREES * 60]]],
  DBT: [[[128267], ["depth_meters", "depth"]]],
  DPT: [[[128267], ["depth", "depth"], ["offset", "offset"]]],
  VHW: [[[127250], ["heading_magnetic", "heading", DEGREES]], [[128259], ["water_speed_knots", "speed_water", KNOTS]]],
  VLW: [[[128275], ["trip_distance", "log", MILES], ["trip_distance_reset", "trip_log", MILES]]],
  MWV: [[[130306], ["wind_angle", "wind_angle", DEGREES], ["wind_speed", "wind_speed", KNOTS]]],
  MTW: [temperature("temperature")],
  MTA: [temperature("temperature")],
  MMB: [[[130314], ["bar", "pressure", 1e-5, 1e-5]]],
  RSA: [[[127245], ["rsa_starboard", "position", DEGREES]]],
};

/** By PGN, device and instance: the newest value of each field; the time of the day goes on. */
type Said = ReadonlyMap<string, { pgn: number; fields: Decoded }>;

interface Told {
  /** By second: what our decoder says that the devices had said by then. */
  said: Said[];
  /** By second: messages until then. */
  counts: number[];
  ais: Decoded[];
}

function isFields(value: DecodedValue): value is Decoded {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Notes the values of a message from its second on. */
function note(
  said: readonly Map<string, { pgn: number; fields: Decoded }>[],
  { pgn, src, fields, second }: { pgn: number; src: number; fields: Decoded; second: number },
): void {
  // Values of several instances and references are values of their own.
  const labels = Object.entries(fields).filter(([name, value]) => typeof value === "string" || /instance$/.test(name));
  const key = JSON.stringify([pgn, src, labels]);
  const known = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  for (const [later, map] of said.entries()) {
    if (later < second) continue;
    const time = typeof known.seconds_today === "number" && { seconds_today: known.seconds_today + later - second };
    map.set(key, { pgn, fields: { ...map.get(key)?.fields, ...known, ...time } });
  }
}

/** What our decoder says of a recording, without the server. */
async function decodeAll(seconds: readonly RecordedItem[][]): Promise<Told> {
  const said = seconds.map(() => new Map<string, { pgn: number; fields: Decoded }>());
  const told: Told = { said, counts: seconds.map(() => 0), ais: [] };
  let second = 0;
  const items = async function* () {
    for (const [index, some] of seconds.entries()) {
      second = index;
      for (const item of some) yield await Promise.resolve(item);
    }
  };
  for await (const { id, pgn, data, offset, length } of assembleRecording(items())) {
    for (let later = second; later < seconds.length; later++) told.counts[later]!++;
    const fields = decode(pgn, data.subarray(offset, offset + length));
    if (!fields) continue;
    if (AIS_PGNS.includes(pgn)) told.ais.push(fields);
    note(said, { pgn, src: sourceOfId(id), fields, second });
    // Each satellite is in a sentence for itself.
    const { satellites } = fields;
    if (!Array.isArray(satellites)) continue;
    for (const each of satellites) {
      if (isFields(each)) {
        note(said, { pgn, src: sourceOfId(id), fields: { ...each, instance: each.prn ?? null }, second });
      }
    }
  }
  return told;
}

/** Lines that a client of a boat gets while the boat hears a recording, by the second in which they were sent. */
async function play(
  seconds: readonly RecordedItem[][],
  counts: readonly number[],
): Promise<{ second: number; line: string }[]> {
  const clock = new FakeClock();
  using held = HeldPort.take();
  const target = { protocol: "tcp", hostname: "127.0.0.1", port: held.port } as const;
  await using boat = await TestBoat.start({ clock, nmea0183: { targets: [target], tagSource: "TEST" } });
  using client = await RawClient.open(held.port);
  const lines = () =>
    client.lines.map((line) => ({ line, second: Number(/c:(\d+)/.exec(line)?.[1]) - START_US / 1e6 - 1 }));
  const { broker } = boat.boat;
  await eventually("the client", async () => await boat.metric("vbg_nmea0183_clients") === 1);
  for (const [second, items] of [...seconds, []].entries()) {
    // In one step: no timer of the server sees the new second without its messages.
    clock.advance(1000);
    for (const item of items) inject(boat, item);
    await Promise.resolve();
    assert.ok(broker.published >= (counts[second] ?? 0), "the bus delivers in a microtask");
    await eventually(`second ${second}`, () => lines().some((each) => each.second === second));
  }
  return lines().filter(({ second }) => second < seconds.length);
}

function inject(boat: TestBoat, { kind, id, data }: RecordedItem): void {
  const isSplit = kind === "message" && isFastPacket(pgnOfId(id));
  for (const frame of isSplit ? splitFastPacket(data, 0) : [data]) boat.buses[0]?.inject(id, frame);
}

/** Items by second; those of a recording without times in one. */
function bySecond(items: readonly RecordedItem[]): RecordedItem[][] {
  const [first] = items;
  const seconds = Map.groupBy(items, ({ timeUs }) => Math.floor((timeUs - (first?.timeUs ?? 0)) / 1e6));
  return [...seconds].sort(([a], [b]) => a - b).map(([, some]) => some);
}

/** A value of pynmea2 as a number, a time as seconds of the day; NaN: the field is empty. */
function numberOf(values: Record<string, unknown>, name: string): number {
  const text = String(values[name] ?? "");
  const [, hours, minutes, seconds] = /^(..)(..)(..\...)$/.exec(name === "timestamp" ? text : "") ?? [];
  if (seconds !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return text === "" ? NaN : Number(text);
}

function valuesOf(values: Record<string, unknown>, names: string): number[] {
  return names.split("|").map((name) => numberOf(values, name)).filter((value) => !Number.isNaN(value));
}

/** Number of values that agree; undefined if one does not. */
function agreeing(values: Record<string, unknown>, rows: readonly Row[], fields: Decoded): number | undefined {
  let count = 0;
  for (const [theirs, ours, factor = 1, tolerance = HALF, offset = 0] of rows) {
    const said = valuesOf(values, theirs);
    if (said.length === 0) continue;
    const value = ours.split("|").map((name) => fields[name]).find((each) => typeof each === "number");
    if (value === undefined) return undefined;
    const differences = said.map((each) => Math.abs(each - (value * factor + offset)));
    // A direction just below 360 degrees is written as 0.
    if (factor === DEGREES) differences.push(...differences.map((each) => Math.abs(360 - each)));
    if (Math.min(...differences) > tolerance) return undefined;
    count++;
  }
  return count;
}

/** Values of a sentence that are those of a message; throws if there is another one. */
function compare({ type, values }: ParsedSentence, said: Said): number {
  let count = 0;
  for (const [pgns, ...rows] of PARTS[type] ?? []) {
    const messages = [...said.values()].filter(({ pgn }) => pgns.includes(pgn)).map(({ fields }) => fields);
    const agreed = messages.map((fields) => agreeing(values, rows, fields)).filter((each) => each !== undefined);
    const isEmpty = rows.every(([theirs]) => valuesOf(values, theirs).length === 0);
    assert.ok(agreed.length > 0 || isEmpty, `${type} ${values.data} of ${JSON.stringify(messages)}`);
    count += Math.max(0, ...agreed);
  }
  return count;
}

Deno.test("pynmea2 reads of a recording on the bus what our decoder says of its messages", PYTHON_NMEA, async () => {
  const played = await Promise.all(RECORDINGS.map(async (file) => {
    const seconds = bySecond((await readAll([sampleBytes(file)])).items);
    const told = await decodeAll(seconds);
    const lines = await play(seconds, told.counts);
    return { ais: told.ais, lines: lines.map(({ line, second }) => ({ line, said: told.said[second] })) };
  }));
  const lines = played.flatMap((each) => each.lines);
  const parsed = await parseSentences(lines.map(({ line }) => `${line}\r\n`));
  // A message of several lines is one sentence.
  const ends = lines.filter(({ line }) => !/!AIVD[MO],2,1/.test(line));
  assert.equal(parsed.length, ends.length);
  const compared = new Map<string, number>();
  for (const [index, sentence] of parsed.entries()) {
    const count = compare(sentence, ends[index]?.said ?? assert.fail());
    compared.set(sentence.type, (compared.get(sentence.type) ?? 0) + count);
  }
  const reports = parsed.filter(({ type }) => AIS.has(type));
  assert.deepEqual(
    reports.map(({ values }) => values.mmsi),
    played.flatMap(({ ais }) => ais.map((each) => each.user_id)),
  );
  const without = [...compared].filter(([, count]) => count === 0).map(([type]) => type);
  assert.deepEqual(new Set(without), new Set([...AIS, "HDT", "MWD", "XDR"]), "reports, and values of several messages");
  const total = [...compared.values()].reduce((sum, count) => sum + count);
  assert.ok(total > 600, `${total} values`);
});
