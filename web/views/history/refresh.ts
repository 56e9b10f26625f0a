import type { FieldSeries, SeriesReply } from "@vessel/gateway/client";
import type { Span } from "./place.ts";

/** Buckets before the end of the last reply that are asked for again: their values were not complete. */
const AGAIN_BUCKETS = 10;

/** The end of a range: what a refresh asks for. */
export interface Tail extends Span {
  points: number;
}

/**
 * The part of a span that a reply does not have yet, in buckets of its width; undefined: all of it has to be asked for. The
 * server reads every frame of what it is asked for: asking for an hour every few seconds would keep it busy.
 */
export function tailOf({ to, bucket_ms }: SeriesReply, { fromMs, toMs }: Span): Tail | undefined {
  const first = Math.floor(Date.parse(to) / bucket_ms) - AGAIN_BUCKETS;
  const points = Math.floor(toMs / bucket_ms) - first + 1;
  const tail = { fromMs: first * bucket_ms, toMs, points };
  return points > AGAIN_BUCKETS && tail.fromMs > fromMs ? tail : undefined;
}

/** The reply for a span, from an older one and that for its tail; undefined: their buckets have other widths. */
export function joinTail(
  before: SeriesReply,
  tail: SeriesReply,
  { span, tailFromMs }: { span: Span; tailFromMs: number },
): SeriesReply | undefined {
  const { bucket_ms } = before;
  if (tail.bucket_ms !== bucket_ms) return undefined;
  const firstMs = Math.floor(span.fromMs / bucket_ms) * bucket_ms;
  const newer = new Map(tail.series.map((each) => [keyOf(each), each]));
  const older = before.series.map((each) => {
    const key = keyOf(each);
    const end = newer.get(key);
    newer.delete(key);
    const kept = slice(each, (ms) => ms >= firstMs && ms < tailFromMs);
    return end ? append(kept, end) : kept;
  });
  const series = [...older, ...newer.values()].filter(({ time }) => time.length > 0);
  return { from: new Date(span.fromMs).toISOString(), to: tail.to, bucket_ms, series };
}

/** The same for a sensor in every reply: its device may change its address. */
export function keyOf({ field, bus, name, src, keys }: FieldSeries): string {
  return JSON.stringify([field, bus, name || src, keys]);
}

function slice(series: FieldSeries, isKept: (ms: number) => boolean): FieldSeries {
  const { time, min, avg, max, last, count } = series;
  const from = time.findIndex(isKept);
  if (from < 0) return { ...series, time: [], min: min && [], avg: avg && [], max: max && [], last: [], count: [] };
  const to = time.findLastIndex(isKept) + 1;
  return {
    ...series,
    ...{ time: time.slice(from, to), last: last.slice(from, to), count: count.slice(from, to) },
    ...{ min: min && min.slice(from, to), avg: avg && avg.slice(from, to), max: max && max.slice(from, to) },
  };
}

function append(a: FieldSeries, b: FieldSeries): FieldSeries {
  return {
    ...b,
    ...{ time: [...a.time, ...b.time], last: [...a.last, ...b.last], count: [...a.count, ...b.count] },
    min: a.min && b.min && [...a.min, ...b.min],
    avg: a.avg && b.avg && [...a.avg, ...b.avg],
    max: a.max && b.max && [...a.max, ...b.max],
  };
}
