import { z } from "zod";
import { formatName, formatTimeUs } from "../../frame/mod.ts";
import {
  averageOf,
  type Bucket,
  instanceOf,
  readSeries,
  type Series,
  SeriesCountError,
  type SeriesField,
  type SeriesRange,
  type SeriesRollup,
  SeriesScanError,
} from "../../series/mod.ts";
import { described, named } from "../api_text.ts";
import { bodyOf } from "../history/body.ts";
import type { HistorySource } from "../history/history.ts";
import { HistoryTurns } from "../history/turns.ts";
import { ApiError, overloaded, recordingOff, slices } from "../reply.ts";
import { type Route, route } from "../routes.ts";
import { PROBLEM } from "../schemas.ts";
import { seriesFieldsOfQuery, type SeriesQuery, seriesQuery, seriesRangeOf } from "./query.ts";

/** Default limits of `GET /series`. */
export const SERIES_DEFAULTS = { maxSeriesPoints: 10_000, maxSeriesScan: 20_000_000 } as const;
/** Maximum number of buckets of all series of a reply together. Each needs some 200 bytes of memory. */
export const MAX_SERIES_BUCKETS = 250_000;

/** Limits of `GET /series` that may change while running. */
export interface SeriesLimits {
  /** Maximum of the parameter `points`. */
  maxSeriesPoints?: number;
  /** Most frames that a request may read. */
  maxSeriesScan?: number;
}

/** Dependencies of `GET /series`. */
export interface SeriesSource extends Pick<HistorySource, "broker" | "journal" | "clock" | "histories"> {
  seriesLimits?: () => SeriesLimits;
  /** The sidecars of the journal; if left out or undefined, all frames are read. */
  rollup?: (() => SeriesRollup | undefined) | undefined;
}

/** Reply of `GET /series`. */
export const seriesSchema = named("Series", {
  from: described(z.string(), { format: "date-time" }),
  to: described(z.string(), { format: "date-time" }),
  bucket_ms: described(z.int(), "Width of a bucket, milliseconds. Buckets begin at its multiples since 1970"),
  series: z.array(z.object({
    field: z.string(),
    unit: z.string().optional(),
    kind: described(
      z.enum(["number", "angle", "label"]),
      "label: enumerations, texts, and numbers that are codes",
    ),
    src: described(z.int(), "Latest source address"),
    name: described(z.string(), "NAME of the device, hex; empty while it is unknown"),
    bus: z.string().optional(),
    instance: described(z.string().optional(), "The values of `keys`, joined by points"),
    keys: described(
      z.record(z.string(), z.union([z.number(), z.string()])).optional(),
      "Fields that tell sensors in one device apart, such as instances and references, with their values",
    ),
    time: described(z.array(z.int()), "Starts of the buckets, milliseconds since 1970; only of buckets with values"),
    min: described(z.array(z.number()).nullable(), "null for labels, and for angles from 0 to a full turn"),
    avg: described(
      z.array(z.number().nullable()).nullable(),
      "null for labels. Angles are averaged as vectors; null where they cancel out",
    ),
    max: described(z.array(z.number()).nullable(), "As min"),
    last: described(z.array(z.unknown()), "Value with the latest time"),
    count: described(z.array(z.int()), "Number of values"),
  })),
});

/** `GET /series`: the same on every server that keeps a journal. */
export const seriesRow: Route<SeriesSource> = route({
  path: "/series",
  summary: "Values of decoded fields between two times, in buckets. One series for each sensor: values of several " +
    "devices or instances are not averaged together",
  query: seriesQuery,
  replies: { 200: ["application/json", seriesSchema], 503: PROBLEM },
  answer: (request, query, _parts, { subject }) => openSeries(subject, { query, request }),
});

/**
 * Answers `GET /series`. A request counts as running until its reply is sent, because the values are in memory until then.
 *
 * @throws {ApiError} 400; 503: there is no journal, or too many requests wait
 */
export async function openSeries(
  source: SeriesSource,
  { query, request }: { query: SeriesQuery; request: Request },
): Promise<Response> {
  const { broker, journal, clock, histories = new HistoryTurns(), seriesLimits = () => ({}) } = source;
  const { maxSeriesPoints, maxSeriesScan } = { ...SERIES_DEFAULTS, ...seriesLimits() };
  const range = seriesRangeOf(query, { nowUs: clock.wallUs(), maxPoints: maxSeriesPoints });
  const fields = seriesFieldsOfQuery(query);
  if (!journal) throw recordingOff();
  const release = await histories.take(request);
  try {
    const list = await readSeries({
      index: journal.index,
      rollup: source.rollup?.(),
      fields,
      range,
      sources: query.src && new Set(query.src),
      buses: broker.buses,
      decoder: broker.decoder,
      maxBuckets: MAX_SERIES_BUCKETS,
      maxScan: maxSeriesScan,
      turns: histories,
      signal: request.signal,
    });
    const pieces = slices(textsOf(list, { range, isBusShown: broker.buses.length > 1 })).values();
    return new Response(bodyOf(pieces, { release, idleMs: histories.idleMs }), {
      headers: { "Content-Type": "application/json" },
    });
  } catch (error) {
    release();
    if (request.signal.aborted) throw overloaded("The request was cancelled while frames were read");
    if (error instanceof SeriesCountError) {
      throw new ApiError(400, `The reply would have ${error.message}: name fewer fields, sources or points`);
    }
    if (error instanceof SeriesScanError) throw tooLong(error, maxSeriesScan);
    throw error;
  }
}

/** The reply to a request that would read too many frames. */
export function tooLong(
  { message, isTemporary }: SeriesScanError,
  most: number,
  { advice = "ask for a shorter time, fewer points, or fields of -series-pgns" }: { advice?: string } = {},
): ApiError {
  const reason = `${message}, of at most ${most} (-series-max-scan)`;
  if (isTemporary) return overloaded(`${reason}: the sidecars of the journal are being built, try again later`);
  return new ApiError(400, `${reason}: ${advice}`);
}

/** Number of list elements that are formatted at once. */
const LIST_PART = 1000;

/** The reply as JSON, in pieces. */
function* textsOf(
  list: readonly Series[],
  { range: { fromUs, toUs, bucketMs }, isBusShown }: { range: SeriesRange; isBusShown: boolean },
): Generator<string, void> {
  const head = JSON.stringify({ from: formatTimeUs(fromUs), to: formatTimeUs(toUs), bucket_ms: bucketMs });
  yield `${head.slice(0, -1)},"series":[`;
  for (const [i, { field, origin, buckets }] of list.entries()) {
    const { src, name, bus, keys } = origin;
    const { text, unit, kind } = field;
    const about = {
      field: text,
      ...(unit !== undefined && { unit }),
      kind,
      src,
      name: name === 0n ? "" : formatName(name),
      ...(isBusShown && { bus }),
      ...(Object.keys(keys).length > 0 && { instance: instanceOf(origin), keys }),
    };
    yield (i > 0 ? "," : "") + JSON.stringify(about).slice(0, -1);
    const inOrder = [...buckets].sort(([a], [b]) => a - b);
    for (const [column, valueOf] of columnsOf(field, bucketMs)) {
      yield `,"${column}":`;
      yield* valueOf ? listTexts(inOrder, valueOf) : ["null"];
    }
    yield "}";
  }
  yield "]}";
}

type ValueOf = (bucket: Bucket, start: number) => unknown;

/** The columns of a series; undefined: its kind has no such values. */
function columnsOf(field: SeriesField, bucketMs: number): [string, ValueOf | undefined][] {
  const hasValues = field.kind !== "label";
  const hasExtremes = field.kind === "number" || (hasValues && field.isSigned);
  return [
    ["time", (_, start) => start * bucketMs],
    ["min", hasExtremes ? ({ min }) => min : undefined],
    ["avg", hasValues ? (bucket) => averageOf(bucket, field) : undefined],
    ["max", hasExtremes ? ({ max }) => max : undefined],
    ["last", ({ last }) => last],
    ["count", ({ count }) => count],
  ];
}

function* listTexts(buckets: readonly [number, Bucket][], valueOf: ValueOf): Generator<string, void> {
  for (let at = 0; at < buckets.length || at === 0; at += LIST_PART) {
    const part = buckets.slice(at, at + LIST_PART).map(([start, bucket]) => valueOf(bucket, start));
    yield (at === 0 ? "[" : ",") + JSON.stringify(part).slice(1, -1);
  }
  yield "]";
}
