import { type Api, type OpenReply, parseJson, type QueryValue } from "./api.ts";
import { readBytes, readTexts } from "./body.ts";
import { ConnectionError } from "./errors.ts";
import { JsonArray } from "./json_array.ts";
import type { ClientFrame } from "./types.ts";

/** Page size of a server without the header `Frame-Count`. */
const DEFAULT_PAGE = 10_000;

/** A request for recorded frames. */
export interface HistoryRequest {
  query: Record<string, QueryValue>;
  /** Reads the first page only. */
  isOnePage: boolean;
  signal: AbortSignal | undefined;
}

/** Corrections of recorded times, as in the file `clock.json` of a journal. */
export interface JournalClock {
  /** Version of the format. */
  version: 1;
  /** Frames that were recorded with a wrong clock. */
  spans: {
    /** First four bytes of the epoch. */
    epoch_word: number;
    /** Sequence number of the first frame. */
    first_seq: number;
    /** Sequence number of the last frame; null: it goes on. */
    last_seq: number | null;
    /** A recorded time, microseconds since 1970. */
    recorded_us: number;
    /** The true time of the same moment. */
    true_us: number;
    /** True microseconds that pass in a recorded one. */
    rate: number;
  }[];
}

/**
 * Reads recorded frames page by page.
 *
 * @throws {ConnectionError} a full page does not say whether another follows
 */
export async function* readHistory(
  api: Api,
  { query: first, isOnePage, signal }: HistoryRequest,
): AsyncGenerator<ClientFrame, void, undefined> {
  for (let query: HistoryRequest["query"] | undefined = first; query;) {
    // No timeout: the server may search for a long time for a rare frame.
    const reply = await api.open("/history", { query, signal, timeoutMs: 0 });
    let count = 0;
    for await (const frame of framesOf(reply)) {
      count++;
      yield frame;
    }
    if (isOnePage) return;
    if (!reply.headers.has("Frame-Count") && count === DEFAULT_PAGE) {
      throw new ConnectionError(
        `The server does not say whether more than ${count} frames were recorded: ask for a shorter time, or set a limit`,
      );
    }
    query = nextQuery(reply.headers.get("Link"));
  }
}

/** Reads journal files until the last one, each as a stream of bytes that must be read to its end. */
export async function* readJournalFiles(
  api: Api,
  { query: first, signal }: Omit<HistoryRequest, "isOnePage">,
): AsyncGenerator<AsyncIterable<Uint8Array>, void, undefined> {
  for (let query: HistoryRequest["query"] | undefined = first; query;) {
    const reply = await api.open("/journal/blocks", { query, signal, timeoutMs: 0 });
    try {
      yield readBytes(reply);
    } finally {
      reply.close();
    }
    query = nextQuery(reply.headers.get("Link"));
  }
}

async function* framesOf(reply: OpenReply): AsyncGenerator<ClientFrame, void, undefined> {
  try {
    const list = new JsonArray();
    for await (const text of readTexts(reply)) {
      for (const element of list.feed(text)) {
        reply.cancel.signal.throwIfAborted();
        yield parseJson<ClientFrame>(element, "Frame of the history");
      }
    }
    list.end();
  } finally {
    reply.close();
  }
}

/** Parameters of the next page; undefined for the last page. */
function nextQuery(link: string | null): Record<string, string[]> | undefined {
  const query = link === null ? undefined : /<[^>?]*\?([^>]*)>\s*;\s*rel="?next"?/.exec(link)?.[1];
  if (query === undefined) return undefined;
  const parameters = new URLSearchParams(query);
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)]));
}
