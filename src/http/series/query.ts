import { z } from "zod";
import { apiText } from "../api_text.ts";
import { timeRangeOf, timeRangeQuery } from "../history/query.ts";
import { boundedList, repeated, uint } from "../params.ts";
import { badParameter } from "../reply.ts";
import { bucketsFor, findSeriesField, type SeriesField, SeriesFieldError, type SeriesRange } from "../../series/mod.ts";

/** Default number of buckets. */
const DEFAULT_POINTS = 500;
/** Maximum number of fields of a request. */
export const MAX_SERIES_FIELDS = 32;
/** Maximum length of a field in a request, characters. */
export const MAX_FIELD_CHARS = 100;

const lastText = (texts: readonly string[] | undefined) => texts?.at(-1);

/** Parameters of the series. */
export const seriesQuery = z.object({
  field: z.array(z.unknown(), "is required: PGN.field, such as 128267.depth").pipe(
    boundedList(z.string().max(MAX_FIELD_CHARS, `expected at most ${MAX_FIELD_CHARS} characters`), {
      min: 1,
      max: MAX_SERIES_FIELDS,
    }),
  ).clone().register(apiText, {
    type: "array",
    items: { type: "string", maxLength: MAX_FIELD_CHARS },
    param: { explode: true },
    description: "A PGN and one of its fields: `128267.depth`; repeatable. /pgns/{pgn} lists the fields",
  }),
  ...timeRangeQuery,
  // The maximum is a setting that may change at runtime: see seriesRangeOf.
  points: boundedList(z.string()).optional().transform(lastText).clone().register(apiText, {
    type: "integer",
    minimum: 1,
    description: `Most buckets; default ${DEFAULT_POINTS}. Widths are round: 1 s, 5 s, 1 min, 1 h …`,
  }),
  src: repeated(uint(255), "Source address; repeatable"),
});

/** The checked parameters of a request for series. */
export type SeriesQuery = z.output<typeof seriesQuery>;

/**
 * Times and buckets of a request.
 *
 * @throws {ApiError} 400: `to` is before `from`, or there are too few or too many points
 */
export function seriesRangeOf(
  { from, to, points: text }: SeriesQuery,
  { nowUs, maxPoints }: { nowUs: number; maxPoints: number },
): SeriesRange & { points: number } {
  const range = timeRangeOf({ from, to }, nowUs);
  const points = text === undefined
    ? Math.min(DEFAULT_POINTS, maxPoints)
    : /^\d{1,10}$/.test(text)
    ? Number(text)
    : NaN;
  if (!(points >= 1 && points <= maxPoints)) {
    throw badParameter("points", `expected a whole number from 1 to ${maxPoints}, got "${text}"`);
  }
  return { ...bucketsFor(range, points), points };
}

/** The fields of a request, each once. @throws {ApiError} 400: there is no such field */
export function seriesFieldsOfQuery({ field }: SeriesQuery): SeriesField[] {
  try {
    return [...new Set(field)].map(findSeriesField);
  } catch (error) {
    if (error instanceof SeriesFieldError) throw badParameter("field", error.message);
    throw error;
  }
}
