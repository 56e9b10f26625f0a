import { z } from "zod";
import { parseTimestamp } from "../../base/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { SeriesCountError, SeriesScanError } from "../../series/mod.ts";
import { gpxOf, type Period, readVoyages, reportOf, trackFileName, trackOf } from "../../voyages/mod.ts";
import { apiText } from "../api_text.ts";
import { bodyOf } from "../history/body.ts";
import { timeRangeOf, timeRangeQuery } from "../history/query.ts";
import { HistoryTurns } from "../history/turns.ts";
import { noQuery } from "../params.ts";
import { ApiError, badParameter, json, overloaded, recordingOff } from "../reply.ts";
import { route, type RouteTable, routeWithParts } from "../routes.ts";
import { PROBLEM } from "../schemas.ts";
import { SERIES_DEFAULTS, type SeriesSource, tooLong } from "../series/series.ts";
import { voyagesSchema } from "./schemas.ts";

/** Longest range of a request, days. */
export const MAX_VOYAGE_DAYS = 366;
/** The start of a voyage may be found this much earlier or later when other frames are read, milliseconds. */
const START_TOLERANCE_MS = 120_000;
const DAY_MS = 86_400_000;
const EXTENSION = ".gpx";

const voyagesQuery = z.object(timeRangeQuery);

const filePart = z.object({
  file: z.string().transform((text, context) => {
    const timeUs = text.endsWith(EXTENSION) ? parseTimestamp(text.slice(0, -EXTENSION.length)) : undefined;
    if (timeUs !== undefined) return timeUs / 1000;
    context.addIssue({ code: "custom", message: `expected the start of a voyage and ${EXTENSION}, got "${text}"` });
    return z.NEVER;
  }).clone().register(apiText, {
    type: "string",
    description: "A time in the voyage, such as its start, and .gpx: 2026-01-02T03:04:05Z.gpx",
  }),
});

/** Voyages: the same on every server that keeps a journal. */
export const voyageRows: RouteTable<SeriesSource> = [
  route({
    path: "/voyages",
    summary: "When the boat was under way, at anchor and in port: voyages that touch a time range, with distance, " +
      "speeds, engine hours, fuel and wind",
    query: voyagesQuery,
    replies: { 200: ["application/json", voyagesSchema], 503: PROBLEM },
    answer: async (request, query, _parts, { subject }) => {
      const { fromUs, toUs } = timeRangeOf(query, subject.clock.wallUs());
      const range = { fromMs: fromUs / 1000, toMs: toUs / 1000 };
      if (range.toMs - range.fromMs > MAX_VOYAGE_DAYS * DAY_MS) {
        throw badParameter("from", `is more than ${MAX_VOYAGE_DAYS} days before "to"`);
      }
      const { periods, release } = await periodsOf(subject, { request, range });
      release();
      return json({ from: formatTimeUs(fromUs), to: formatTimeUs(toUs), ...reportOf(periods) });
    },
  }),
  routeWithParts({
    path: "/voyages/{file}",
    summary: "The track of a voyage as GPX 1.1",
    query: noQuery,
    parts: filePart,
    replies: { 200: ["application/gpx+xml", z.string()], 404: PROBLEM, 503: PROBLEM },
    answer: async (request, _query, { file: timeMs }, { subject }) => {
      const range = { fromMs: timeMs, toMs: timeMs + START_TOLERANCE_MS };
      const { periods, release, idleMs } = await periodsOf(subject, { request, range });
      const voyage = periods.findLast(({ state }) => state === "under_way");
      if (voyage?.state !== "under_way") {
        release();
        throw new ApiError(404, `There was no voyage at ${formatTimeUs(timeMs * 1000)}: see /voyages`);
      }
      const name = trackFileName(formatTimeUs(voyage.startMs * 1000));
      return new Response(bodyOf(encoded(gpxOf([trackOf(voyage)])), { release, idleMs }), {
        headers: {
          "Content-Type": "application/gpx+xml",
          "Content-Disposition": `attachment; filename="${name}"`,
        },
      });
    },
  }),
];

/**
 * The periods of a range. A request counts as running until it is released.
 *
 * @throws {ApiError} 400; 503: there is no journal, or too many requests wait
 */
async function periodsOf(
  { broker, journal, clock, histories = new HistoryTurns(), seriesLimits = () => ({}), rollup }: SeriesSource,
  { request, range }: { request: Request; range: { fromMs: number; toMs: number } },
): Promise<{ periods: Period[]; release: () => void; idleMs: number }> {
  const { maxSeriesScan } = { ...SERIES_DEFAULTS, ...seriesLimits() };
  if (!journal) throw recordingOff();
  const release = await histories.take(request);
  try {
    const periods = await readVoyages({
      ...range,
      index: journal.index,
      rollup: rollup?.(),
      buses: broker.buses,
      decoder: broker.decoder,
      maxScan: maxSeriesScan,
      nowMs: clock.wallUs() / 1000,
      turns: histories,
      signal: request.signal,
    });
    return { periods, release, idleMs: histories.idleMs };
  } catch (error) {
    release();
    if (request.signal.aborted) throw overloaded("The request was cancelled while frames were read");
    if (error instanceof SeriesCountError) throw new ApiError(400, `There are too many sensors: ${error.message}`);
    if (error instanceof SeriesScanError) {
      throw tooLong(error, maxSeriesScan, {
        advice: "ask for a shorter time, or keep PGN 129025 or 129029 in -series-pgns",
      });
    }
    throw error;
  }
}

const encoder = new TextEncoder();

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  for await (const text of texts) yield encoder.encode(text);
}
