import { z } from "zod";
import type { Clock } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import type { StoredFrame } from "../../frame/mod.ts";
import { bodyOf } from "./body.ts";
import { COUNT_HEADER, measurePage, pageHeaders } from "./pages.ts";
import { DEFAULT_MAX_HISTORY, type HistoryQuery, historyQuery, type HistoryRange, rangeOf } from "./query.ts";
import { type HistoryIndex, type HistoryScan, scanHistory, WantedFrames } from "./scan.ts";
import { FrameListText } from "./text.ts";
import { HistoryTurns, SLICE_MS } from "./turns.ts";
import { filterOf } from "../params.ts";
import { recordingOff } from "../reply.ts";
import { type Route, route } from "../routes.ts";
import { frameSchema, PROBLEM } from "../schemas.ts";

export type { HistoryIndex } from "./scan.ts";

/** Dependencies of `GET /history`. */
export interface HistorySource {
  broker: Broker;
  journal?: { index: HistoryIndex } | undefined;
  clock: Clock;
  /** Limits the number of concurrent requests; left out: no limit. */
  histories?: HistoryTurns;
  /** Current maximum of the parameter `limit`; default 1 000 000. */
  maxLimit?: () => number | undefined;
}

const HEADERS = { "Content-Type": "application/json" };
const PAGE_HEADERS = {
  [COUNT_HEADER]: "Number of frames in this page",
  Link: 'The next page, relative to this one: `<history?…>; rel="next"`',
};

/** `GET /history`: the same on every server that keeps a journal. */
export const historyRow: Route<HistorySource> = route({
  path: "/history",
  summary: "Recorded frames between two times, including frames not yet on disk. If the limit may cut the list, the " +
    'header Frame-Count has its length; if the limit cuts it, Link has rel="next". Counting may take 5 s',
  query: historyQuery,
  replies: { 200: ["application/json", z.array(frameSchema), PAGE_HEADERS], 503: PROBLEM },
  answer: (request, query, _parts, { subject }) => openHistory(subject, { query, request }),
});

/**
 * Answers `GET /history`. The reply is generated while it is sent, so that long replies and slow clients cost little
 * memory. If the limit may cut the reply, its frames are counted first, because the count goes into the headers.
 *
 * @throws {ApiError} 400; 503: there is no journal, or too many requests wait
 */
export async function openHistory(
  { broker, journal, clock, maxLimit, histories = new HistoryTurns() }: HistorySource,
  { query, request }: { query: HistoryQuery; request: Request },
): Promise<Response> {
  const range = rangeOf(query, { nowUs: clock.wallUs(), maxLimit: maxLimit?.() ?? DEFAULT_MAX_HISTORY });
  if (!journal) throw recordingOff();
  const { index } = journal;
  const filter = filterOf(query);
  const { src, interval } = query;
  const wantedOf = (part: Partial<HistoryRange>) =>
    new WantedFrames(filter, { src, interval, ...range, ...part, buses: broker.buses });
  const { signal } = request;
  const release = await histories.take(request);
  try {
    const { limit } = range;
    const list = new FrameListText({ broker, detail: query });
    const reply = (pieces: AsyncGenerator<Uint8Array<ArrayBuffer>, void>, headers = {}) =>
      new Response(bodyOf(pieces, { release, idleMs: histories.idleMs }), { headers: { ...HEADERS, ...headers } });
    // The limit cannot cut this reply: it needs no count and starts after its first block.
    const isWhole = await index.framesAtMost({ fromUs: range.fromUs, toUs: range.toUs }) <= limit;
    if (isWhole) {
      const pieces = readPieces(index, { wanted: wantedOf({}), histories, list });
      // Before the status is sent: a file that cannot be read now is an error, not the end of a list.
      const { value: first } = await pieces.next();
      return reply(heldPieces(first ? [first] : [], { rest: pieces, histories }));
    }
    const wanted = wantedOf({ limit: limit + 1 });
    const { held, page } = await measurePage(index, { wanted, limit, histories, signal, list });
    // The page ends at the counted frame, whatever has been recorded or deleted since.
    const rest = held.isWhole ? undefined : readPieces(index, {
      wanted: wantedOf({ after: held.last ?? range.after, limit: page ? Infinity : limit - held.count }),
      through: page?.last,
      histories,
      list,
    });
    return reply(heldPieces(held.pieces, { rest, histories }), page && pageHeaders(page, { request, range }));
  } catch (error) {
    release();
    throw error;
  }
}

/** The buffered pieces, then the rest. */
async function* heldPieces(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  { rest, histories }: { rest: AsyncGenerator<Uint8Array<ArrayBuffer>, void> | undefined; histories: HistoryTurns },
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let sliceEndMs = performance.now() + SLICE_MS;
  try {
    for (const piece of pieces) {
      yield piece;
      if (performance.now() >= sliceEndMs) sliceEndMs = await histories.slice();
    }
    if (rest) yield* rest;
  } finally {
    // It may have begun, and not be read to its end.
    await rest?.return();
  }
}

/** The list, read from the journal. A block without a wanted frame gives an empty piece, at which a cancelled read ends. */
async function* readPieces(
  index: HistoryIndex,
  { list, ...scan }: Omit<HistoryScan, "take"> & { list: FrameListText },
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const take = (frame: StoredFrame) => list.add(frame, scan.wanted.busText(frame.bus));
  for await (const _ of scanHistory(index, { ...scan, take })) yield list.piece();
  yield list.end();
}
