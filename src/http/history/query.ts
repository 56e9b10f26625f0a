import { apiText } from "../api_text.ts";
import { z } from "zod";
import { parseDuration } from "../../base/mod.ts";
import { boundedList, filterQuery, flag, last, parsed, repeated, timeText, uint } from "../params.ts";
import { badParameter } from "../reply.ts";
import type { EpochBlock } from "../../journal/mod.ts";

const DEFAULT_LIMIT = 10_000;
/** Default maximum of the parameter `limit`. */
export const DEFAULT_MAX_HISTORY = 1_000_000;

const positionText = parsed(parsePosition, "a position from a Link header");
const intervalText = parsed((text) => {
  const us = Math.round(parseDuration(text) * 1000);
  return us > 0 && Number.isSafeInteger(us) ? us : undefined;
}, "a duration above zero, at most 285 years");

/** The time range of a request. */
export const timeRangeQuery = {
  from: z.array(z.unknown(), "is required: an RFC 3339 time").pipe(timeText)
    .transform((times) => times.at(-1) ?? 0)
    .clone().register(apiText, { type: "string", format: "date-time", description: "Earliest time, inclusive" }),
  to: timeText.optional().transform(last)
    .clone().register(apiText, {
      type: "string",
      format: "date-time",
      description: "Latest time, inclusive; default now",
    }),
};

/** The start of a page. */
const afterQuery = positionText.optional().transform(last).clone().register(apiText, {
  type: "string",
  description: 'Start of the page: copy it from the header Link with rel="next" of the previous page',
});

/** Parameters of the blocks of the journal. */
export const blocksQuery = z.object({ ...timeRangeQuery, after: afterQuery });

/** Parameters of the history. If a single-valued parameter is repeated, the last value counts. */
export const historyQuery = filterQuery.extend({
  ...timeRangeQuery,
  src: repeated(uint(255), "Source address; repeatable"),
  // The maximum is a setting that may change at runtime: see rangeOf.
  limit: boundedList(z.string()).optional().transform(last).clone().register(apiText, {
    type: "integer",
    minimum: 1,
    description:
      `Maximum number of frames; default ${DEFAULT_LIMIT}. If there are more, the header Link names the next page`,
  }),
  after: afterQuery,
  interval: intervalText.optional().transform(last).clone().register(apiText, {
    type: "string",
    description: "Keep only the first frame of each source and PGN in each interval of this length: 5s, PT1M",
  }),
  decode: flag("Add a `decoded` object to each frame whose payload is known: see /pgns"),
  labels: flag("Add `decoded`, and a `labels` object with the meanings of its enumeration values"),
});

/** The checked parameters of a history request. */
export type HistoryQuery = z.output<typeof historyQuery>;

/** A query with its defaults filled in; times are inclusive, in microseconds since 1970. */
export interface HistoryRange {
  fromUs: number;
  toUs: number;
  limit: number;
  /** Exclusive start; undefined: from the first frame on. */
  after: HistoryPosition | undefined;
}

/**
 * Fills in the defaults of a query.
 *
 * @throws {ApiError} 400: `to` is before `from`, or the limit is too small or too large
 */
export function rangeOf(
  { from, to, limit: text, after }: HistoryQuery,
  { nowUs, maxLimit }: { nowUs: number; maxLimit: number },
): HistoryRange {
  const range = timeRangeOf({ from, to }, nowUs);
  const limit = text === undefined ? Math.min(DEFAULT_LIMIT, maxLimit) : /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(limit >= 1 && limit <= maxLimit)) {
    throw badParameter("limit", `expected a whole number from 1 to ${maxLimit}, got "${text}"`);
  }
  return { ...range, limit, after };
}

/**
 * The time range of a request, in microseconds since 1970, inclusive.
 *
 * @throws {ApiError} 400: `to` is before `from`
 */
export function timeRangeOf(
  { from, to }: { from: number; to: number | undefined },
  nowUs: number,
): { fromUs: number; toUs: number } {
  if (to !== undefined && to < from) throw badParameter("to", `is before "from"`);
  // Frames show their time in whole milliseconds: a search for the shown time must find them.
  return { fromUs: from, toUs: Math.floor((to ?? nowUs) / 1000) * 1000 + 999 };
}

/** A position in the order of a history: after one frame and before the next. */
export interface HistoryPosition {
  /** First four bytes of the frame's epoch; 0 if its file names none. */
  epochWord: number;
  /** Sequence number; without an epoch numbers may repeat, and this is the index in the block. */
  at: number;
  /** Base time of its block, microseconds since 1970. */
  blockUs: number;
}

const POSITION = /^([0-9a-f]{8})-(\d{1,16})-(\d{1,16})$/;

/** Formats a position for the parameter `after`. */
export function formatPosition({ epochWord, at, blockUs }: HistoryPosition): string {
  return `${epochWord.toString(16).padStart(8, "0")}-${at}-${Math.max(0, blockUs)}`;
}

/** Parses a position; undefined: not a position. */
export function parsePosition(text: string): HistoryPosition | undefined {
  const [, word = "", at = "", us = ""] = POSITION.exec(text) ?? [];
  if (word === "") return undefined;
  return { epochWord: parseInt(word, 16), at: Number(at), blockUs: Number(us) };
}

/** The {@linkcode HistoryPosition.at} of a frame. */
export function positionAt({ epochWord }: EpochBlock, { seq, index }: { seq: number; index: number }): number {
  return epochWord === 0 ? index : seq;
}

/**
 * Highest {@linkcode HistoryPosition.at} of a block's frames at or before a position; -Infinity: all are after it.
 *
 * @param order epochs of the journal's files in the order in which they are read
 */
export function passedThrough(
  { block: { baseTimeUs }, epochWord }: EpochBlock,
  { position, order }: { position: HistoryPosition; order: readonly number[] },
): number {
  if (epochWord === position.epochWord) {
    if (epochWord !== 0 || baseTimeUs === position.blockUs) return position.at;
    return baseTimeUs < position.blockUs ? Infinity : -Infinity;
  }
  const [own, other] = [order.indexOf(epochWord), order.indexOf(position.epochWord)];
  // The files of the position's epoch are deleted, or not written yet.
  if (other < 0) return baseTimeUs <= position.blockUs ? Infinity : -Infinity;
  // An epoch without a file is the newest.
  return own >= 0 && own < other ? Infinity : -Infinity;
}
