import { apiText } from "../api_text.ts";
import { z } from "zod";
import { errorText, parseDuration, parseTimestamp } from "../../base/mod.ts";
import { boundedList } from "../bounded_list.ts";
import { type HistoryPosition, parsePlace } from "./position.ts";
import { filterQuery, flag, repeated, uint } from "../params.ts";
import { badParameter } from "../reply.ts";

/** Frames given when no limit is asked for. */
const DEFAULT_LIMIT = 10_000;
/** Largest limit when the server says nothing else. */
export const DEFAULT_MAX_HISTORY = 1_000_000;
const timeText = boundedList(
  z.string().transform((text, context) => {
    const timeUs = parseTimestamp(text);
    if (timeUs !== undefined) return timeUs;
    context.addIssue({
      code: "custom",
      message: `expected an RFC 3339 time such as 2026-01-02T03:04:05Z, got "${text}"`,
    });
    return z.NEVER;
  }),
);

const intervalText = boundedList(
  z.string().transform((text, context) => {
    try {
      const us = Math.round(parseDuration(text) * 1000);
      if (us > 0 && Number.isSafeInteger(us)) return us;
      context.addIssue({ code: "custom", message: `expected a duration above zero, got "${text}"` });
    } catch (error) {
      context.addIssue({ code: "custom", message: errorText(error) });
    }
    return z.NEVER;
  }),
);

const placeText = boundedList(
  z.string().transform((text, context) => {
    const place = parsePlace(text);
    if (place !== undefined) return place;
    context.addIssue({ code: "custom", message: `expected a place that a Link header has given, got "${text}"` });
    return z.NEVER;
  }),
);

/** The parameters of the history; of those that are single the last one given counts. */
export const historyQuery = filterQuery.extend({
  from: z.array(z.unknown(), "is required: an RFC 3339 time").pipe(timeText)
    .transform((times) => times.at(-1) ?? 0)
    .clone().register(apiText, { type: "string", format: "date-time", description: "Time of the first frame" }),
  to: timeText.optional().transform((times) => times?.at(-1))
    .clone().register(apiText, {
      type: "string",
      format: "date-time",
      description: "Time of the last frame; default now",
    }),
  src: repeated(uint(255), "Source address; repeatable"),
  // How much it may be is a setting that can change: see rangeOf.
  limit: boundedList(z.string()).optional().transform((limits) => limits?.at(-1)).clone().register(apiText, {
    type: "integer",
    minimum: 1,
    description: `Most frames; default ${DEFAULT_LIMIT}. When there are more, the header Link names the next page`,
  }),
  after: placeText.optional().transform((places) => places?.at(-1)).clone().register(apiText, {
    type: "string",
    description: 'Where the page begins: given by the header Link with rel="next" of the page before it',
  }),
  interval: intervalText.optional().transform((intervals) => intervals?.at(-1)).clone().register(apiText, {
    type: "string",
    description: "Keep the first frame of each source and PGN in each span of so long: 5s, PT1M",
  }),
  decode: flag("Add a `decoded` object to each frame whose payload is known: see /pgns"),
  labels: flag("Add `decoded`, and a `labels` object with what the numbers in it mean that are codes"),
});

/** What a client wants of the history. */
export type HistoryQuery = z.output<typeof historyQuery>;

/** A query with what it leaves open filled in; times are inclusive, in microseconds since 1970. */
export interface HistoryRange {
  fromUs: number;
  toUs: number;
  limit: number;
  /** The first frame is the one after this place; undefined: the first of all. */
  after: HistoryPosition | undefined;
}

/**
 * Fills in what a query leaves open.
 *
 * @throws {ApiError} 400: `to` is before `from`, or the limit is too small or too large
 */
export function rangeOf(
  { from, to, limit: text, after }: HistoryQuery,
  { nowUs, maxLimit }: { nowUs: number; maxLimit: number },
): HistoryRange {
  if (to !== undefined && to < from) throw badParameter("to", `is before "from"`);
  const limit = text === undefined ? Math.min(DEFAULT_LIMIT, maxLimit) : /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(limit >= 1 && limit <= maxLimit)) {
    throw badParameter("limit", `expected a whole number from 1 to ${maxLimit}, got "${text}"`);
  }
  // A frame shows its time in whole milliseconds, and must be found by what it shows.
  const toUs = Math.floor((to ?? nowUs) / 1000) * 1000 + 999;
  return { fromUs: from, toUs, limit, after };
}
