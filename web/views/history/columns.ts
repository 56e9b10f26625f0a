import type { Value } from "./angles.ts";

/** A line for {@linkcode columnsOf}. */
export interface LineValues {
  /** Starts of buckets, milliseconds since 1970. */
  time: readonly number[];
  /** See {@linkcode longestStep}. */
  longestMs: number;
  middle: readonly Value[];
  low: readonly Value[] | undefined;
  high: readonly Value[] | undefined;
  /** Indexes before which the line is interrupted. */
  breaks?: ReadonlySet<number>;
}

/** A line in the rows of a chart: null interrupts it, undefined does not. */
export interface Column {
  middle: Value[];
  low: Value[] | undefined;
  high: Value[] | undefined;
  /** Rows of values with no neighbour: as a line they could not be seen. */
  alone: number[];
}

/** Values of several lines at the same times. */
export interface Columns {
  /** Milliseconds since 1970, in order: the middles of buckets, and where lines are interrupted. */
  x: number[];
  lines: Column[];
}

/** Values in a bucket from which on an empty bucket cannot be chance. */
const MANY_VALUES = 3;
/** As for the staleness of live values: three usual intervals. */
const MISSED_INTERVALS = 3;

/**
 * The longest time between the starts of two buckets that are one line. Where buckets have several values each, an empty one
 * is a gap; where values are rarer than buckets, a gap is longer than three usual intervals.
 */
export function longestStep(
  { time, count }: { time: readonly number[]; count: readonly number[] },
  bucketMs: number,
): number {
  const values = count.reduce((sum, each) => sum + each, 0);
  if (values >= MANY_VALUES * time.length) return bucketMs;
  const steps = time.slice(1).map((each, index) => each - (time[index] ?? 0)).sort((a, b) => a - b);
  return MISSED_INTERVALS * Math.max(bucketMs, steps[Math.floor(steps.length / 2)] ?? 0);
}

/** Puts lines into the rows of one chart. */
export function columnsOf(lines: readonly LineValues[], bucketMs: number): Columns {
  const half = bucketMs / 2;
  const ends = lines.map((line) => {
    return line.time.flatMap((start, index) => {
      const next = line.time[index + 1];
      const isEnd = next !== undefined && (next - start > line.longestMs || line.breaks?.has(index + 1));
      return isEnd ? [{ index, atMs: start + bucketMs }] : [];
    });
  });
  const times = new Set<number>();
  for (const [index, { time }] of lines.entries()) {
    for (const start of time) times.add(start + half);
    for (const { atMs } of ends[index] ?? []) times.add(atMs);
  }
  const x = Float64Array.from(times).sort();
  const rows = new Map(Array.from(x, (at, row) => [at, row]));
  return {
    x: [...x],
    lines: lines.map((line, index) => {
      const ended = ends[index] ?? [];
      const place = (values: readonly Value[]) => {
        const column = new Array<Value>(x.length).fill(undefined);
        for (const [i, start] of line.time.entries()) column[rows.get(start + half) ?? 0] = values[i] ?? null;
        for (const { atMs } of ended) column[rows.get(atMs) ?? 0] = null;
        return column;
      };
      const lasts = new Set(ended.map((each) => each.index));
      const alone = line.time.flatMap((start, i) => {
        const isFirst = i === 0 || lasts.has(i - 1);
        const isLast = i === line.time.length - 1 || lasts.has(i);
        return isFirst && isLast ? [rows.get(start + half) ?? 0] : [];
      });
      return {
        middle: place(line.middle),
        low: line.low && place(line.low),
        high: line.high && place(line.high),
        alone,
      };
    }),
  };
}

/** Index of the bucket that holds at a time; undefined: there is a gap. */
export function bucketAt(
  { time, longestMs }: Pick<LineValues, "time" | "longestMs">,
  { atMs, bucketMs }: { atMs: number; bucketMs: number },
): number | undefined {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((time[middle] ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  const start = time[low - 1];
  if (start === undefined) return undefined;
  const next = time[low] ?? start + longestMs;
  return atMs < (next - start > longestMs ? start + bucketMs : next) ? low - 1 : undefined;
}
