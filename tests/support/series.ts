import assert from "node:assert/strict";
import { bucketsFor } from "../../src/series/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { buildName, type Message } from "../../src/frame/mod.ts";
import type { BlockDevice } from "../../src/journal/mod.ts";
import { Random } from "./random.ts";
import type { TestApi } from "./history.ts";
import { message, nameFields, START_US } from "./messages.ts";

/** A series of a reply of `GET /series`. */
export interface ShownSeries {
  field: string;
  unit?: string;
  kind: "number" | "angle" | "label";
  src: number;
  name: string;
  bus?: string;
  instance?: string;
  keys?: Record<string, number | string>;
  time: number[];
  min: number[] | null;
  avg: (number | null)[] | null;
  max: number[] | null;
  last: unknown[];
  count: number[];
}

/** A reply of `GET /series`. */
export interface SeriesReply {
  from: string;
  to: string;
  bucket_ms: number;
  series: ShownSeries[];
}

/** Fields that tests ask for: what sort of average they need, and what distinguishes their sensors. */
export const TESTED_FIELDS: Readonly<Record<string, { angle?: number; signed?: true; label?: true; keys?: string[] }>> =
  {
    "127250.heading": { angle: 2 * Math.PI, keys: ["heading_reference"] },
    "127250.variation": { angle: 2 * Math.PI, signed: true, keys: ["heading_reference"] },
    "128267.depth": {},
    "128267.offset": {},
    "127508.voltage": { keys: ["instance"] },
    "127508.current": { keys: ["instance"] },
    "130306.wind_angle": { angle: 2 * Math.PI, keys: ["wind_reference"] },
    "130306.wind_speed": { keys: ["wind_reference"] },
    "127493.transmission_gear": { label: true, keys: ["instance"] },
    "129025.latitude": {},
    "129025.longitude": { angle: 360, signed: true },
    "127505.level": { keys: ["instance", "fluid_type"] },
  };

/** A recorded message and the NAME that its address had; 0: none. */
export interface KnownMessage {
  message: Message;
  name: bigint;
}

const u16 = (value: number) => [value & 0xff, (value >> 8) & 0xff];
const u32 = (value: number) => [...u16(value), ...u16(value >> 16)];

/** Payloads of sensors whose values drift and sometimes are not available. */
export class Sensors {
  readonly #random: Random;
  #heading = 0;
  #depth = 1200;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A PGN and a payload. */
  next(): { pgn: number; data: number[] } {
    const random = this.#random;
    const orNull = (value: number[]) =>
      random.chance(0.05) ? value.map((_, i) => i === value.length - 1 ? 0x7f : 0xff) : value;
    const missing = (value: number[]) => random.chance(0.05) ? value.map(() => 0xff) : value;
    switch (random.int(7)) {
      case 0:
        // Around north.
        this.#heading = (this.#heading + random.between(-300, 300) + 62_832) % 62_832;
        return {
          pgn: 127250,
          data: [
            1,
            ...missing(u16(this.#heading)),
            ...u16(0),
            ...orNull(u16(random.between(-300, 300))),
            random.int(2),
          ],
        };
      case 1:
        this.#depth = Math.max(0, this.#depth + random.between(-20, 20));
        return { pgn: 128267, data: [1, ...missing(u32(this.#depth)), ...orNull(u16(random.between(-900, 900))), 5] };
      case 2:
        return {
          pgn: 127508,
          data: [
            random.int(3),
            ...missing(u16(random.between(1150, 1450))),
            ...orNull(u16(random.between(-999, 999))),
            0xff,
            0xff,
            1,
          ],
        };
      case 3:
        return {
          pgn: 130306,
          data: [
            1,
            ...missing(u16(random.int(2000))),
            ...missing(u16(random.between(-900, 900) + 62_832)),
            random.pick([0, 2]),
            0xff,
            0xff,
          ],
        };
      case 4:
        return { pgn: 127493, data: [random.int(2), 0xfc | random.int(4), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] };
      case 5:
        // Across the date line.
        return {
          pgn: 129025,
          data: [...u32(random.between(-4, 4)), ...u32(random.pick([1, -1]) * (1_800_000_000 - random.int(999)))],
        };
      default:
        return {
          pgn: 127505,
          data: [random.int(2) | (random.int(2) << 4), ...orNull(u16(random.int(25_000))), ...u32(1000), 0xff],
        };
    }
  }
}

/** All buckets of at least this width begin at a multiple of it. */
const EDGE_US = 30_000_000;

/** Messages of some sensors on two buses; a second on average between two of one bus. Every address has a NAME or none. */
export function sensorTraffic(
  random: Random,
  { count, everyMs, startUs = START_US }: { count: number; everyMs: number; startUs?: number },
): Message[] {
  const sensors = new Sensors(random);
  let timeUs = startUs;
  return Array.from({ length: count }, () => {
    timeUs += random.int(2 * everyMs * 1000);
    // Times of several buses interleave.
    const late = random.chance(0.1) ? random.int(50_000) : 0;
    // Some are at the very beginning or end of a bucket.
    if (random.chance(0.05)) timeUs += EDGE_US - timeUs % EDGE_US - random.int(2);
    // The monotonic clock runs with the times: a step would end the block.
    const at = { timeUs: timeUs - late, monoMs: (timeUs - late - startUs) / 1000 };
    return message({ ...sensors.next(), src: random.pick([3, 7, 21]), bus: random.int(2), ...at });
  });
}

/** The bucket of a naive reader. */
interface Values {
  values: unknown[];
  last: { value: unknown; timeUs: number };
}

const decodedMessages = new WeakMap<Message, ReturnType<typeof decode>>();

function decodedOf(message: Message): ReturnType<typeof decode> {
  const { pgn, data, offset, length } = message;
  if (!decodedMessages.has(message)) {
    decodedMessages.set(message, decode(pgn, data.subarray(offset, offset + length)));
  }
  return decodedMessages.get(message);
}

/** What `GET /series` must answer: decodes every message, keeps every value, and sums up at the end. */
export function bruteSeries(
  messages: readonly KnownMessage[],
  { fields, fromUs, toUs, bucketMs, buses, src }: {
    fields: readonly string[];
    fromUs: number;
    toUs: number;
    bucketMs: number;
    buses: readonly string[];
    src?: readonly number[];
  },
): Map<string, { src: number; rows: unknown[][] }> {
  const found = new Map<string, { src: number; srcUs: number; field: string; buckets: Map<number, Values> }>();
  for (const { message, name } of messages) {
    const { pgn, id, bus, timeUs } = message;
    if (timeUs < fromUs || timeUs > toUs || (src && !src.includes(id & 0xff))) continue;
    for (const field of fields) {
      if (!field.startsWith(`${pgn}.`)) continue;
      const decoded = decodedOf(message);
      const value = decoded?.[field.slice(7)];
      if (value === null || value === undefined) continue;
      const keys = (TESTED_FIELDS[field]?.keys ?? []).map((key) => decoded?.[key]).filter((each) => each !== null);
      const device = name === 0n ? `@${id & 0xff}` : `0x${name.toString(16).padStart(16, "0")}`;
      const key = [field, buses[bus], device, ...keys].join(" ");
      const series = found.get(key) ?? { src: 0, srcUs: -Infinity, field, buckets: new Map<number, Values>() };
      found.set(key, series);
      if (timeUs >= series.srcUs) [series.src, series.srcUs] = [id & 0xff, timeUs];
      const start = Math.floor(timeUs / 1000 / bucketMs) * bucketMs;
      const bucket = series.buckets.get(start) ?? { values: [], last: { value, timeUs } };
      series.buckets.set(start, bucket);
      bucket.values.push(value);
      if (timeUs >= bucket.last.timeUs) bucket.last = { value, timeUs };
    }
  }
  return new Map(Array.from(found, ([key, { src, field, buckets }]) => [key, { src, rows: rowsOf(field, buckets) }]));
}

function rowsOf(field: string, buckets: Map<number, Values>): unknown[][] {
  const { angle, signed, label } = TESTED_FIELDS[field] ?? {};
  return [...buckets].sort(([a], [b]) => a - b).map(([start, { values, last }]) => {
    const numbers = values.filter((each) => typeof each === "number");
    const extremes = label || (angle && !signed) ? [null, null] : [Math.min(...numbers), Math.max(...numbers)];
    const average = label
      ? null
      : angle
      ? meanAngle(numbers, { turn: angle, signed: signed ?? false })
      : numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
    return [start, extremes[0], average, extremes[1], last.value, values.length];
  });
}

function meanAngle(angles: readonly number[], { turn, signed }: { turn: number; signed: boolean }): number | null {
  const unit = 2 * Math.PI / turn;
  const x = angles.reduce((sum, each) => sum + Math.cos(each * unit), 0);
  const y = angles.reduce((sum, each) => sum + Math.sin(each * unit), 0);
  if (Math.hypot(x, y) < 1e-9 * angles.length) return null;
  const angle = Math.atan2(y, x) / unit;
  return angle < 0 && !signed ? angle + turn : angle;
}

/** The series of a reply in the form of {@linkcode bruteSeries}. */
export function shownSeries(
  reply: SeriesReply,
  { bus = "can0" } = {},
): Map<string, { src: number; rows: unknown[][] }> {
  return new Map(reply.series.map((each) => {
    const device = each.name === "" ? `@${each.src}` : each.name;
    const key = [each.field, each.bus ?? bus, device, ...Object.values(each.keys ?? {})].join(" ");
    const rows = each.time.map((time, i) => [
      time,
      each.min?.[i] ?? null,
      each.avg?.[i] ?? null,
      each.max?.[i] ?? null,
      each.last[i],
      each.count[i],
    ]);
    return [key, { src: each.src, rows }];
  }));
}

/** Relative difference up to which two sums of the same numbers in another order are equal. */
const ROUNDING = 1e-9;

/** Where two sets of series differ, for people; undefined: they are equal but for rounding. */
export function differenceOf(
  found: ReturnType<typeof bruteSeries>,
  expected: ReturnType<typeof bruteSeries>,
): string | undefined {
  const names = (list: typeof found) => [...list.keys()].sort().join(", ");
  if (names(found) !== names(expected)) return `series ${names(found)} instead of ${names(expected)}`;
  for (const [key, { src, rows }] of expected) {
    const other = found.get(key);
    if (other?.src !== src) return `${key}: src ${other?.src} instead of ${src}`;
    if (other.rows.length !== rows.length) return `${key}: ${other.rows.length} buckets instead of ${rows.length}`;
    for (const [i, row] of rows.entries()) {
      const isSame = row.every((value, column) =>
        isClose(value, other.rows[i]?.[column], { turn: turnOf(key, column) })
      );
      if (!isSame) return `${key}: ${JSON.stringify(other.rows[i])} instead of ${JSON.stringify(row)}`;
    }
  }
  return undefined;
}

const AVERAGE_COLUMN = 2;

/** A full turn where a column holds angles: 0 and a full turn are the same average. */
function turnOf(key: string, column: number): number {
  return column === AVERAGE_COLUMN ? TESTED_FIELDS[key.split(" ")[0] ?? ""]?.angle ?? Infinity : Infinity;
}

function isClose(a: unknown, b: unknown, { turn }: { turn: number }): boolean {
  if (typeof a !== "number" || typeof b !== "number") return Object.is(a, b);
  const apart = Math.abs(a - b);
  return Math.min(apart, Math.abs(turn - apart)) <= ROUNDING * Math.max(1, Math.abs(a));
}

/** Entries of a block's device table. */
export function devicesOf(names: Readonly<Record<number, bigint>>): BlockDevice[] {
  const product = { productCode: 0, modelId: "", softwareVersion: "", modelVersion: "", modelSerial: "" };
  return Object.entries(names).flatMap(([src, name]) =>
    [0, 1].map((bus) => ({ bus, src: Number(src), name, activeFrom: 0, ...product }))
  );
}

/** RFC 3339 text of a time. */
export const timeText = (us: number) => new Date(us / 1000).toISOString();

/** A random request, and what it must answer. */
function randomRequest(
  random: Random,
  { firstUs, lastUs, points: counts }: { firstUs: number; lastUs: number; points: readonly number[] },
) {
  const between = () => {
    const timeUs = firstUs + random.int((lastUs - firstUs) / 1000) * 1000;
    // Some ranges begin or end at the very edge of a bucket.
    return random.chance(0.3) ? timeUs - timeUs % EDGE_US - random.int(2) * 1000 : timeUs;
  };
  const [fromUs = 0, to = 0] = [between(), between()].sort((a, b) => a - b);
  const fields = random.shuffle(random.some(Object.keys(TESTED_FIELDS)));
  if (fields.length === 0) fields.push("127250.heading");
  const points = random.pick(counts);
  const src = random.chance(0.3) ? [random.pick([3, 7, 21])] : undefined;
  const path =
    `/series?${fields.map((field) => `field=${field}`).join("&")}&from=${timeText(fromUs)}&to=${timeText(to)}` +
    `&points=${points}${src ? `&src=${src[0]}` : ""}`;
  return { path, points, fields, fromUs, toUs: to + 999, ...(src && { src }) };
}

/** Asks for random series, and compares each reply with what a naive reader finds. */
export async function checkRandomly(
  api: TestApi,
  recorded: readonly KnownMessage[],
  { seed, rounds, buses, points = [1, 2, 7, 60, 500, 3000] }: {
    seed: number;
    rounds: number;
    buses: readonly string[];
    points?: readonly number[];
  },
): Promise<void> {
  const random = new Random(seed);
  const times = recorded.map(({ message: { timeUs } }) => timeUs);
  const span = { firstUs: Math.min(...times) - 1e6, lastUs: Math.max(...times) + 1e6 };
  for (let round = 0; round < rounds; round++) {
    const request = randomRequest(random, { ...span, points });
    const reply = await api.get<SeriesReply>(request.path);
    const expected = bruteSeries(recorded, { ...request, bucketMs: reply.bucket_ms, buses });
    assert.equal(differenceOf(shownSeries(reply), expected), undefined, request.path);
    const { fromUs, toUs } = request;
    assert.equal(reply.bucket_ms, bucketsFor({ fromUs, toUs }, request.points).bucketMs);
    const buckets = new Set(reply.series.flatMap(({ time }) => time));
    assert.ok(buckets.size <= request.points, `${buckets.size} of ${request.points} points`);
  }
}

/** NAMEs of the devices of {@linkcode sensorTraffic}; the third has none. */
const NAMES: Readonly<Record<number, bigint>> = {
  3: buildName(nameFields({ uniqueNumber: 1, manufacturerCode: 137 })),
  7: buildName(nameFields({ uniqueNumber: 2, manufacturerCode: 137 })),
};

/** Buses of {@linkcode sensorTraffic}. */
export const BUSES: readonly string[] = ["can0", "can1"];

/** Options of a journal that records {@linkcode sensorTraffic}. */
export const RECORDING = { buses: BUSES, devices: (): BlockDevice[] => devicesOf(NAMES) };

/** Messages with the NAMEs that such a journal knows. */
export function known(messages: readonly Message[]): KnownMessage[] {
  return messages.map((message) => ({ message, name: NAMES[message.id & 0xff] ?? 0n }));
}

/** Messages that a child process records at most. */
export const CHILD_MESSAGES = 20_000;

/** The messages that a child process records: days of sensors. */
export function childTraffic(random: Random): Message[] {
  return sensorTraffic(random, { count: CHILD_MESSAGES, everyMs: 6000 });
}
