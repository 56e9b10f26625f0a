import type { Clock } from "../base/mod.ts";
import { addDecoded, addLabels, type Broker, type FrameDetail, frameText } from "../broker/mod.ts";
import type { StoredFrame } from "../frame/mod.ts";
import { measurePage, pageHeaders } from "./history_pages.ts";
import { DEFAULT_MAX_HISTORY, type HistoryQuery, rangeOf } from "./history_query.ts";
import { type HistoryIndex, type HistoryScan, scanHistory } from "./history_scan.ts";
import { HistoryTurns } from "./history_turns.ts";
import { WantedFrames } from "./history_wanted.ts";
import { filterOf } from "./params.ts";
import { ApiError } from "./reply.ts";

export type { HistoryIndex } from "./history_scan.ts";

/** What a history is made of. */
export interface HistorySource {
  broker: Broker;
  journal?: { index: HistoryIndex } | undefined;
  clock: Clock;
  /** Limits how many are answered at once; left out: nothing does. */
  histories?: HistoryTurns;
  /** Most frames that may be asked for now; default a million. */
  maxLimit?: () => number | undefined;
}

/** A reply is sent in pieces of about this many characters: whoever compresses one does not look at the time. */
const PIECE_CHARACTERS = 16_384;
const HEADERS = { "Content-Type": "application/json" };
const encoder = new TextEncoder();

/**
 * Answers `GET /history`: made while it is sent, so that neither a long one nor a slow client costs memory. Its frames are
 * counted first, as headers say how many they are and where the next page begins.
 *
 * @throws {ApiError} 400, or 503: there is no journal, or too many wait for their turn
 */
export async function openHistory(
  { broker, journal, clock, maxLimit, histories = new HistoryTurns() }: HistorySource,
  { query, request }: { query: HistoryQuery; request: Request },
): Promise<Response> {
  const range = rangeOf(query, { nowUs: clock.wallUs(), maxLimit: maxLimit?.() ?? DEFAULT_MAX_HISTORY });
  if (!journal) throw new ApiError(503, "No journal is kept: see -journal-dir");
  const { index } = journal;
  const filter = filterOf(query);
  const { src, interval } = query;
  const wantedUpTo = (limit: number) =>
    new WantedFrames(filter, { src, interval, ...range, limit, buses: broker.buses });
  const { signal } = request;
  const release = await histories.take(request);
  try {
    const { limit } = range;
    // Nothing is counted where nothing can be cut: the answer begins at once.
    const isWhole = await index.framesAtMost({ fromUs: range.fromUs, toUs: range.toUs }) <= limit;
    const page = isWhole
      ? undefined
      : await measurePage(index, { wanted: wantedUpTo(limit + 1), limit, histories, signal });
    const headers = { ...HEADERS, ...page && pageHeaders(page, { request, range }) };
    if (page?.count === 0) {
      release();
      return new Response("[]", { headers });
    }
    // The page ends at the frame that was found, whatever was recorded or deleted since.
    const wanted = wantedUpTo(page ? Infinity : limit);
    const texts = jsonTexts(index, { wanted, through: page?.last, broker, detail: query, histories });
    return new Response(bodyOf(texts, { release, idleMs: histories.idleMs }), { headers });
  } catch (error) {
    release();
    throw error;
  }
}

/** The texts as a body. It ends when its client takes nothing for too long: others wait for their turn. */
function bodyOf(
  texts: AsyncGenerator<string, void>,
  { release, idleMs }: { release: () => void; idleMs: number },
): ReadableStream<Uint8Array> {
  let idle: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const over = () => {
    isOver = true;
    clearTimeout(idle);
    release();
  };
  const wait = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    idle = setTimeout(() => {
      over();
      controller.error(new Error(`The client took nothing for ${idleMs / 1000} s`));
      void texts.return();
    }, idleMs);
  };
  return new ReadableStream<Uint8Array>({
    start: wait,
    async pull(controller) {
      clearTimeout(idle);
      try {
        for (;;) {
          const { value, done } = await texts.next();
          if (isOver) return;
          if (done) {
            over();
            return controller.close();
          }
          if (value === "") continue;
          controller.enqueue(encoder.encode(value));
          return wait(controller);
        }
      } catch (error) {
        over();
        throw error;
      }
    },
    async cancel() {
      over();
      await texts.return();
    },
  }, { highWaterMark: 0 });
}

/** The list in pieces. An empty piece says that a block held nothing, and lets a reader that was cancelled go. */
async function* jsonTexts(
  index: HistoryIndex,
  { broker, detail, ...scan }: Omit<HistoryScan, "take"> & { broker: Broker; detail: FrameDetail },
): AsyncGenerator<string, void> {
  let piece = "[";
  let before = "";
  const take = (frame: StoredFrame) => {
    const text = frameText(frame, scan.wanted.busText(frame.bus));
    piece += before + detailed(text, frame, { detail, broker });
    before = ",";
    return piece.length >= PIECE_CHARACTERS;
  };
  for await (const _ of scanHistory(index, { ...scan, take })) {
    yield piece;
    piece = "";
  }
  yield piece + "]";
}

function detailed(
  text: string,
  { pgn, data, offset, length }: StoredFrame,
  { detail: { decode, labels }, broker: { decoder } }: { detail: FrameDetail; broker: Broker },
): string {
  if (!decode && !labels) return text;
  const payload = data.subarray(offset, offset + length);
  const decoded = addDecoded(text, decoder.json(pgn, payload));
  return labels ? addLabels(decoded, decoder.labels(pgn, payload)) : decoded;
}
