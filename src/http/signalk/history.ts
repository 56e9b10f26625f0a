import { formatTimeUs } from "../../frame/mod.ts";
import {
  BucketBudget,
  bucketsFor,
  scanRange,
  SeriesCountError,
  type SeriesField,
  type SeriesRange,
  SeriesScanError,
} from "../../series/mod.ts";
import {
  type HistoryPath,
  HistoryQueryError,
  HistoryTable,
  type HistoryValuesQuery,
  originOfPath,
  parseHistoryTimes,
  parseHistoryValues,
  type PathOrigin,
  SELF,
} from "../../signalk/mod.ts";
import { urlWithoutToken } from "../auth.ts";
import { bodyOf } from "../history/body.ts";
import { HistoryTurns } from "../history/turns.ts";
import { ApiError, badParameter, json, overloaded, slices } from "../reply.ts";
import { MAX_SERIES_BUCKETS, SERIES_DEFAULTS, type SeriesSource, tooLong } from "../series/series.ts";
import { HistoryFold } from "./history_fold.ts";
import { addStored, storedFields } from "./history_stored.ts";
import type { SignalK } from "./signalk.ts";

/** Most samples of a path if a request names no resolution. */
const DEFAULT_SAMPLES = 500;

/** Dependencies of the history. */
export interface SignalKHistoryApi extends SeriesSource {
  signalk: SignalK;
}

/**
 * Answers a request of the History API: values of the own vessel from the journal.
 *
 * @throws {ApiError} 400; 501: there is no journal; 503: too many requests wait
 */
export async function readHistory(
  api: SignalKHistoryApi,
  { request, what }: { request: Request; what: "values" | "paths" | "contexts" },
): Promise<Response> {
  // As other servers do that have no provider of histories.
  if (!api.journal) throw new ApiError(501, "Recording is off: see -journal-dir");
  const parameters = urlWithoutToken(request).searchParams;
  const nowUs = api.clock.wallUs();
  try {
    if (what === "values") return await readValues(api, { request, query: parseHistoryValues(parameters, { nowUs }) });
    // Not by the range: to find out what was recorded then, all of it would have to be decoded.
    parseHistoryTimes(parameters, { nowUs });
    return json(what === "contexts" ? [api.signalk.context] : (await api.signalk.start()).paths());
  } catch (error) {
    if (error instanceof HistoryQueryError) throw badParameter(error.parameter, error.message);
    throw error;
  }
}

async function readValues(
  api: SignalKHistoryApi,
  { request, query }: { request: Request; query: HistoryValuesQuery },
): Promise<Response> {
  const { histories = new HistoryTurns(), seriesLimits = () => ({}), signalk } = api;
  const { maxSeriesScan: maxScan } = { ...SERIES_DEFAULTS, ...seriesLimits() };
  const isSelf = query.context === SELF || query.context === signalk.context;
  const paths = query.paths.map((wanted) => ({ wanted, origin: isSelf ? originOfPath(wanted.path) : undefined }));
  const bucketMs = query.resolutionMs ?? bucketsFor(query, DEFAULT_SAMPLES).bucketMs;
  const budget = new BucketBudget(MAX_SERIES_BUCKETS);
  const table = new HistoryTable(paths, { bucketMs, budget, allSources: query.allSources });
  const release = await histories.take(request);
  try {
    const { fromUs, toUs } = query;
    await fill(table, { api: { ...api, histories }, paths, range: { fromUs, toUs, bucketMs }, maxScan, request });
    const pieces = slices(textsOf(table, { ...query, context: isSelf ? signalk.context : query.context })).values();
    return new Response(bodyOf(pieces, { release, idleMs: histories.idleMs }), {
      headers: { "Content-Type": "application/json" },
    });
  } catch (error) {
    release();
    if (request.signal.aborted) throw overloaded("The request was cancelled while frames were read");
    if (error instanceof SeriesCountError) {
      throw new ApiError(400, `The reply would have ${error.message}: ask for fewer paths or a coarser resolution`);
    }
    if (error instanceof SeriesScanError) throw tooLong(error, maxScan);
    throw error;
  }
}

/** Reads the sidecars of series for the paths where that is enough, and frames for the others. */
async function fill(table: HistoryTable, { api, paths, range, maxScan, request: { signal } }: {
  api: SignalKHistoryApi & { histories: HistoryTurns };
  paths: readonly { wanted: HistoryPath; origin: PathOrigin | undefined }[];
  range: SeriesRange;
  maxScan: number;
  request: Request;
}): Promise<void> {
  const { broker: { buses, decoder }, journal, histories: turns } = api;
  if (!journal) return;
  const { index } = journal;
  const rollup = api.rollup?.();
  const stored = { fields: new Map<string, SeriesField>(), paths: new Set<string>() };
  const pgns = new Set<number>();
  for (const [, group] of Map.groupBy(paths, ({ origin }) => origin?.mapped)) {
    const [{ origin } = { origin: undefined }] = group;
    if (!origin) continue;
    const methods = group.map(({ wanted: { method } }) => method);
    const isWhole = group.every((each) => each.origin?.member.length === 0);
    const fields = isWhole ? storedFields(origin, { rollup, bucketMs: range.bucketMs, methods }) : undefined;
    if (!fields) { for (const pgn of origin.pgns) pgns.add(pgn); }
    else {
      stored.paths.add(origin.mapped);
      for (const field of fields) stored.fields.set(field.text, field);
    }
  }
  if (stored.paths.size > 0) {
    const fields = [...stored.fields.values()];
    const maxBuckets = MAX_SERIES_BUCKETS;
    await addStored({ index, rollup, fields, range, buses, decoder, maxBuckets, maxScan, turns, signal }, {
      table,
      paths: stored.paths,
    });
  }
  if (pgns.size === 0) return;
  const frames = await index.framesAtMost({ fromUs: range.fromUs, toUs: range.toUs });
  // The number is unknown for a recording that is played.
  if (frames > maxScan && frames !== Infinity) throw new SeriesScanError(frames, { isTemporary: false });
  const fold = new HistoryFold({ pgns, table, decoder, buses, except: stored.paths });
  await scanRange(index, { fromUs: range.fromUs, toUs: range.toUs }, { fold, turns, signal });
}

/** The reply as JSON, in pieces. */
function* textsOf(
  table: HistoryTable,
  { context, fromUs, toUs }: Pick<HistoryValuesQuery, "context" | "fromUs" | "toUs">,
): Generator<string, void> {
  const range = { from: formatTimeUs(fromUs), to: formatTimeUs(toUs) };
  const { columns, rows } = table.result();
  yield `${JSON.stringify({ context, range, values: columns }).slice(0, -1)},"data":[`;
  let separator = "";
  for (const [timeMs, ...values] of rows) {
    yield separator + JSON.stringify([new Date(timeMs).toISOString(), ...values]);
    separator = ",";
  }
  yield "]}";
}
