import { formatTimeUs } from "../frame/mod.ts";
import { urlWithoutToken } from "./auth.ts";
import { formatPlace, type HistoryPlace } from "./history_place.ts";
import type { HistoryRange } from "./history_query.ts";
import { type HistoryIndex, type HistoryScan, scanHistory } from "./history_scan.ts";
import { overloaded } from "./reply.ts";
import { RETRY_AFTER_S } from "./room.ts";

/** The header that says how many frames a page has. */
export const COUNT_HEADER = "Frame-Count";
/** Longest time that frames are counted, milliseconds; then the page is sent without Frame-Count and Link. */
export const MEASURE_MS = 5000;

/** Frames in one page of a history. */
export interface HistoryPage {
  count: number;
  /** Its last frame; undefined: it has none. */
  last: HistoryPlace | undefined;
  /** Whether there are more frames than the limit. */
  isCut: boolean;
}

/**
 * Finds the end of a page before it is sent: headers go first. Undefined: it took too long.
 *
 * @param options.wanted takes one frame more than the limit
 * @throws {ApiError} 503: the client has gone
 */
export async function measurePage(
  index: HistoryIndex,
  { limit, signal, ...scan }: Omit<HistoryScan, "take" | "through"> & { limit: number; signal: AbortSignal },
): Promise<HistoryPage | undefined> {
  const page: HistoryPage = { count: 0, last: undefined, isCut: false };
  const take = (_: unknown, place: Readonly<HistoryPlace>) => {
    if (page.count === limit) page.isCut = true;
    else {
      page.count++;
      page.last = { ...place };
    }
  };
  const endMs = performance.now() + MEASURE_MS;
  for await (const _ of scanHistory(index, { ...scan, take })) {
    if (signal.aborted) throw overloaded("The request was cancelled while its frames were counted", RETRY_AFTER_S);
    if (performance.now() > endMs) return undefined;
  }
  return page;
}

/** Headers of a page. The link repeats the end time, so that all pages together have one end. */
export function pageHeaders(page: HistoryPage, { request, range }: {
  request: Request;
  range: HistoryRange;
}): Record<string, string> {
  const { count, last, isCut } = page;
  if (!isCut || !last) return { [COUNT_HEADER]: String(count) };
  const { searchParams, pathname } = urlWithoutToken(request);
  if (!searchParams.has("to")) searchParams.set("to", formatTimeUs(range.toUs));
  searchParams.set("after", formatPlace(last));
  // Relative: a proxy may serve us below a path of its own.
  const next = `${pathname.slice(pathname.lastIndexOf("/") + 1)}?${searchParams}`;
  return { [COUNT_HEADER]: String(count), Link: `<${next}>; rel="next"` };
}
