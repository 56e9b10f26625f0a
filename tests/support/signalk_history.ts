import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import type { KnownMessage } from "./series.ts";

/** A reply of the History API. */
export interface HistoryReply {
  context: string;
  range: { from: string; to: string };
  values: { path: string; method: string; $source?: string }[];
  data: [string, ...unknown[]][];
}

type Fields = Record<string, unknown>;

interface TestedPath {
  pgn: number;
  /** Undefined or null: no value. */
  read: (fields: Fields) => unknown;
  angle?: "signed" | "unsigned";
}

const number = (value: unknown, convert: (value: number) => unknown) =>
  typeof value === "number" ? convert(value) : undefined;
const position = ({ latitude, longitude }: Fields) =>
  latitude === null || longitude === null ? undefined : { longitude, latitude };

/** Paths that tests ask for, and how to read them from a decoded message; none: nobody says them. */
export const TESTED_PATHS: Readonly<Record<string, TestedPath | undefined>> = {
  "navigation.headingTrue": {
    pgn: 127250,
    read: ({ heading, heading_reference: reference }) => reference === "true" ? heading : undefined,
    angle: "unsigned",
  },
  "navigation.headingMagnetic": {
    pgn: 127250,
    read: ({ heading, heading_reference: reference }) => reference === "magnetic" ? heading : undefined,
    angle: "unsigned",
  },
  "navigation.magneticVariation": { pgn: 127250, read: ({ variation }) => variation, angle: "signed" },
  "environment.depth.belowTransducer": { pgn: 128267, read: ({ depth }) => depth },
  "environment.depth.belowKeel": {
    pgn: 128267,
    read: ({ depth, offset }) =>
      number(depth, (below) => number(offset, (keel) => keel < 0 ? below + keel : undefined)),
  },
  "electrical.batteries.1.voltage": {
    pgn: 127508,
    read: ({ instance, voltage }) => instance === 1 ? voltage : undefined,
  },
  "environment.wind.angleApparent": {
    pgn: 130306,
    read: ({ wind_angle: angle, wind_reference: reference }) =>
      reference === "apparent" ? number(angle, (each) => each > Math.PI ? each - 2 * Math.PI : each) : undefined,
    angle: "signed",
  },
  "environment.wind.speedApparent": {
    pgn: 130306,
    read: ({ wind_speed: speed, wind_reference: reference }) => reference === "apparent" ? speed : undefined,
  },
  "navigation.position": { pgn: 129025, read: position },
  "navigation.position.longitude": { pgn: 129025, read: (fields) => position(fields)?.longitude },
  "tanks.freshWater.1.currentLevel": {
    pgn: 127505,
    read: ({ instance, fluid_type: fluid, level }) =>
      instance === 1 && (fluid === 1 || fluid === "water") ? number(level, (each) => each / 100) : undefined,
  },
  "propulsion.port.transmission.gear": {
    pgn: 127493,
    read: ({ instance, transmission_gear: gear }) =>
      instance === "Single Engine or Dual Engine Port" ? gear : undefined,
  },
  "steering.rudderAngle": undefined,
  "no.such.path": undefined,
};

interface Sample {
  value: unknown;
  timeUs: number;
}

/** A wanted column: path, method and its parameter. */
export interface Wanted {
  path: string;
  method: string;
  parameter?: number | undefined;
}

interface Range {
  fromUs: number;
  toUs: number;
  bucketMs: number;
  buses: readonly string[];
}

const decoded = new WeakMap<object, Fields | undefined>();

function fieldsOf({ message }: KnownMessage): Fields | undefined {
  const { pgn, data, offset, length } = message;
  if (!decoded.has(message)) decoded.set(message, decode(pgn, data.subarray(offset, offset + length)));
  return decoded.get(message);
}

/** All values of a path by source and bucket. */
function samplesOf(
  messages: readonly KnownMessage[],
  { path, fromUs, toUs, bucketMs, buses }: Range & { path: string },
): Map<string, Map<number, Sample[]>> {
  const found = new Map<string, Map<number, Sample[]>>();
  const tested = TESTED_PATHS[path];
  for (const each of messages) {
    const { message: { pgn, timeUs, id, bus }, name } = each;
    if (!tested || pgn !== tested.pgn || timeUs < fromUs || timeUs > toUs) continue;
    const value = tested.read(fieldsOf(each) ?? {});
    if (value === undefined || value === null) continue;
    const source = `${buses[bus]}.${name === 0n ? id & 0xff : name.toString(16).padStart(16, "0")}`;
    const byStart = found.get(source) ?? new Map<number, Sample[]>();
    found.set(source, byStart);
    const start = Math.floor(timeUs / 1000 / bucketMs) * bucketMs;
    byStart.set(start, [...byStart.get(start) ?? [], { value, timeUs }]);
  }
  return found;
}

/** What the History API must answer: each column by the time of its rows. */
export function bruteHistory(
  messages: readonly KnownMessage[],
  { wanted, allSources, ...range }: Range & { wanted: readonly Wanted[]; allSources: boolean },
): { columns: { path: string; method: string; $source?: string }[]; rows: [string, ...unknown[]][] } {
  const parts = wanted.flatMap((column) => {
    const { path, method } = column;
    const samples = samplesOf(messages, { path, ...range });
    const firstOf = (source: string) => Math.min(...samples.get(source)?.keys() ?? []);
    const sources = [...samples.keys()].sort((a, b) => firstOf(a) - firstOf(b) || (a < b ? -1 : 1));
    if (!allSources || sources.length === 0) {
      return [{
        column: { path, method },
        cells: cellsOf(column, sources.map((each) => samples.get(each) ?? new Map())),
      }];
    }
    return sources.map((source) => ({
      column: { path, method, $source: source },
      cells: cellsOf(column, [samples.get(source) ?? new Map()]),
    }));
  });
  const starts = [...new Set(parts.flatMap(({ cells }) => [...cells.keys()]))].sort((a, b) => a - b);
  return {
    columns: parts.map(({ column }) => column),
    rows: starts.map((start) => [
      new Date(start).toISOString(),
      ...parts.map(({ cells }) => cells.get(start) ?? null),
    ]),
  };
}

/** The value of each bucket; a bucket has the values of one source. */
function cellsOf(wanted: Wanted, sources: readonly Map<number, Sample[]>[]): Map<number, unknown> {
  const starts = [...new Set(sources.flatMap((each) => [...each.keys()]))].sort((a, b) => a - b);
  let source = sources[0];
  const smoothed: number[] = [];
  return new Map(starts.map((start) => {
    if (!source?.has(start)) source = sources.find((each) => each.has(start));
    return [start, cellOf(source?.get(start) ?? [], { wanted, smoothed })];
  }));
}

function cellOf(samples: readonly Sample[], { wanted, smoothed }: { wanted: Wanted; smoothed: number[] }): unknown {
  const { path, method, parameter = NaN } = wanted;
  const values = samples.map(({ value }) => value);
  const numbers = values.filter((each) => typeof each === "number");
  const first = samples.reduce((least, each) => each.timeUs < least.timeUs ? each : least).value;
  const last = samples.reduce((most, each) => each.timeUs >= most.timeUs ? each : most).value;
  if (method === "first") return first;
  if (method === "middle_index") return values[Math.floor(values.length / 2)];
  if (method === "last" || numbers.length === 0) return last;
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)];
  if (method === "min") return min;
  if (method === "max") return max;
  if (method === "mid") return (min + max) / 2;
  const angle = TESTED_PATHS[path]?.angle;
  const average = meanOf(numbers.map((value) => ({ value, weight: 1 })), angle);
  if (average === null || method === "average") return average;
  smoothed.push(average);
  if (method === "sma") return meanOf(smoothed.slice(-parameter).map((value) => ({ value, weight: 1 })), angle);
  // The weights of an exponential average, written out.
  const weights = smoothed.map((value, i) => ({
    value,
    weight: (i === 0 ? 1 : parameter) * (1 - parameter) ** (smoothed.length - 1 - i),
  }));
  return meanOf(weights, angle);
}

function meanOf(samples: readonly { value: number; weight: number }[], angle: TestedPath["angle"]): number | null {
  const sum = (of: (value: number) => number) =>
    samples.reduce((all, { value, weight }) => all + weight * of(value), 0);
  const total = sum(() => 1);
  if (!angle) return sum((value) => value) / total;
  const [x, y] = [sum(Math.cos), sum(Math.sin)];
  if (Math.hypot(x, y) < 1e-9 * total) return null;
  const mean = Math.atan2(y, x);
  return mean < 0 && angle === "unsigned" ? mean + 2 * Math.PI : mean;
}

const ROUNDING = 1e-9;

/** Compares a reply with what is expected, but for rounding. */
export function assertHistory(reply: HistoryReply, expected: ReturnType<typeof bruteHistory>, about: string): void {
  assert.deepEqual(reply.values, expected.columns, about);
  assert.deepEqual(reply.data.map(([time]) => time), expected.rows.map(([time]) => time), about);
  for (const [i, [time, ...row]] of expected.rows.entries()) {
    for (const [j, value] of row.entries()) {
      const found = reply.data[i]?.[j + 1];
      const where = `${about}: ${time} ${JSON.stringify(reply.values[j])}`;
      if (typeof value !== "number" || typeof found !== "number") assert.deepEqual(found, value, where);
      else {
        const apart = Math.abs(found - value);
        const { angle } = TESTED_PATHS[reply.values[j]?.path ?? ""] ?? {};
        const turn = angle ? 2 * Math.PI : Infinity;
        if (angle === "unsigned") assert.ok(found >= 0 && found <= turn, `${where} ${found}`);
        if (angle === "signed") assert.ok(Math.abs(found) <= Math.PI + ROUNDING, `${where} ${found}`);
        assert.ok(
          Math.min(apart, Math.abs(turn - apart)) <= ROUNDING * Math.max(1, Math.abs(value)),
          `${where} ${found} instead of ${value}`,
        );
      }
    }
  }
}
