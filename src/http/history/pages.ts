import { formatTimeUs, type StoredFrame } from "../../frame/mod.ts";
import { urlWithoutToken } from "../auth.ts";
import { formatPosition, type HistoryPosition, type HistoryRange } from "./query.ts";
import { type HistoryIndex, type HistoryScan, scanHistory } from "./scan.ts";
import type { FrameListText } from "./text.ts";
import { overloaded } from "../reply.ts";

/** Header with the number of frames in a page. */
export const COUNT_HEADER = "Frame-Count";

/** Frames in one page of a history. */
export interface HistoryPage {
  count: number;
  /** Position of its last frame; undefined: the page is empty. */
  last: HistoryPosition | undefined;
  /** True when the limit cut the page. */
  isCut: boolean;
}

/** The beginning of a page, buffered while its frames were counted. */
export interface HeldPieces {
  pieces: Uint8Array<ArrayBuffer>[];
  /** Frames in it, including those whose text is still in the list. */
  count: number;
  /** Position of the last of them; undefined: there are none. */
  last: HistoryPosition | undefined;
  /** True when this is the whole page. */
  isWhole: boolean;
}

/**
 * Counts the frames of a page before it is sent, because headers go first. Buffers the beginning, up to `heldBytes`.
 *
 * @param options.wanted must accept one frame more than the limit
 * @returns page: undefined when it took too long
 * @throws {ApiError} 503: the client has gone
 */
export async function measurePage(
  index: HistoryIndex,
  { limit, signal, list, ...scan }: Omit<HistoryScan, "take" | "through"> & {
    limit: number;
    signal: AbortSignal;
    list: FrameListText;
  },
): Promise<{ held: HeldPieces; page: HistoryPage | undefined }> {
  const page: HistoryPage = { count: 0, last: undefined, isCut: false };
  const held: HeldPieces = { pieces: [], count: 0, last: undefined, isWhole: false };
  const { measureMs, heldBytes } = scan.histories;
  let bytes = 0;
  const take = (frame: StoredFrame, position: Readonly<HistoryPosition>) => {
    if (page.count === limit) {
      page.isCut = true;
      return;
    }
    page.count++;
    page.last = { ...position };
    if (bytes >= heldBytes) return;
    held.count++;
    held.last = page.last;
    if (!list.add(frame, scan.wanted.busText(frame.bus))) return;
    const piece = list.piece();
    bytes += piece.length;
    held.pieces.push(piece);
  };
  const endMs = performance.now() + measureMs;
  for await (const _ of scanHistory(index, { ...scan, take })) {
    if (signal.aborted) throw overloaded("The request was cancelled while its frames were counted");
    if (performance.now() > endMs) return { held, page: undefined };
  }
  held.isWhole = held.count === page.count;
  if (held.isWhole) held.pieces.push(list.end());
  return { held, page };
}

/** Headers of a page. */
export function pageHeaders(page: HistoryPage, { request, range }: {
  request: Request;
  range: HistoryRange;
}): Record<string, string> {
  const { count, last, isCut } = page;
  const next = isCut && last ? linkAfter(last, { request, toUs: range.toUs }) : {};
  return { [COUNT_HEADER]: String(count), ...next };
}

/** Header with the link to the next page. It repeats the end time, so that all pages together have one end. */
export function linkAfter(
  position: HistoryPosition,
  { request, toUs }: { request: Request; toUs: number },
): { Link: string } {
  const { searchParams, pathname } = urlWithoutToken(request);
  if (!searchParams.has("to")) searchParams.set("to", formatTimeUs(toUs));
  searchParams.set("after", formatPosition(position));
  // Relative: a proxy may serve us below a path of its own.
  const next = `${pathname.slice(pathname.lastIndexOf("/") + 1)}?${searchParams}`;
  return { Link: `<${next}>; rel="next"` };
}
