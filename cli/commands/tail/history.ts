import { ApiError, type Client, type ClientFrame, type Filter } from "@vessel/gateway/client";

/** The recorded frames to read. */
export interface LastFrames {
  /** Number of frames. */
  count: number;
  filter: Filter;
  /** Time of the newest frame, milliseconds since 1970. */
  nowMs: number;
  signal: AbortSignal;
}

const SECOND_MS = 1000;
/** Time spans that are tried in turn until there are enough frames. */
const SPANS_MS = [10, 60, 600, 3600, 86_400].map((seconds) => seconds * SECOND_MS);
/** Frames of one request, which every server allows. */
const PAGE = 10_000;

/**
 * The newest recorded frames, oldest first.
 *
 * @returns undefined if the server has no journal
 * @throws {ApiError | ConnectionError} the server refuses, or cannot be reached
 */
export async function lastFrames(client: Client, wanted: LastFrames): Promise<ClientFrame[] | undefined> {
  let last: ClientFrame[] = [];
  try {
    for (const spanMs of SPANS_MS) {
      last = await newestSince(client, { ...wanted, fromMs: wanted.nowMs - spanMs });
      if (last.length >= wanted.count) break;
    }
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return undefined;
    throw error;
  }
  return last;
}

/** Reads page by page and keeps the newest `count` frames. */
async function newestSince(
  client: Client,
  { count, filter, signal, fromMs }: LastFrames & { fromMs: number },
): Promise<ClientFrame[]> {
  let newest: ClientFrame[] = [];
  let from = new Date(fromMs).toISOString();
  let seen = new Set<string>();
  for (;;) {
    const page: ClientFrame[] = [];
    for await (const frame of client.history({ ...filter, from, limit: PAGE }, { signal })) page.push(frame);
    const fresh = page.filter((frame) => !seen.has(keyOf(frame)));
    newest = [...newest, ...fresh].slice(-count);
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE || fresh.length === 0) return newest;
    from = end.ts;
    seen = new Set(page.filter(({ ts }) => ts === end.ts).map(keyOf));
  }
}

/** Not only the number: frames of old recordings may have none. */
function keyOf({ seq, src, pgn, data }: ClientFrame): string {
  return `${seq} ${src} ${pgn} ${data}`;
}
