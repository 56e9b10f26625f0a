import { apiText } from "./api_text.ts";
import { z } from "zod";
import { errorText, parseTimestamp } from "../base/mod.ts";
import { boundFilter, type Filter, FilterError } from "../filter/mod.ts";
import { MAX_MESSAGE_BYTES } from "../frame/mod.ts";
import { badParameter } from "./reply.ts";

/** An unchecked query: every parameter is a list, in the order given. */
type RawQuery = Record<string, string[]>;

/** Highest value of a PGN parameter. */
export const MAX_UINT32 = 0xffff_ffff;
/** Highest device instance. */
export const MAX_DEVICE_INSTANCE = 252;

/** Maximum entries of a list in a request. */
export const MAX_LIST_ENTRIES = 256;

/**
 * A list of at most `max` entries. Checking is cheap for hostile input: a longer list is refused before its entries are
 * checked, and only the first invalid entry is reported.
 */
export function boundedList<T extends z.ZodType>(
  item: T,
  { min = 0, max = MAX_LIST_ENTRIES }: { min?: number; max?: number } = {},
) {
  return z.preprocess((value: z.input<T>[], context) => {
    // The value is still unchecked, whatever its type says.
    if (!Array.isArray(value)) return value;
    if (value.length > max) {
      context.addIssue({ code: "custom", message: `expected at most ${max} entries, got ${value.length}` });
      return z.NEVER;
    }
    const invalidAt = value.findIndex((each) => !item.safeParse(each).success);
    return invalidAt < 0 ? value : value.slice(0, invalidAt + 1);
  }, z.array(item).min(min).max(max));
}

/** An unsigned decimal integer; `hint` is added to the error if the value has a comma. */
export function uint(maximum: number, hint = ": for several, repeat the parameter") {
  return z.string()
    .refine((text) => /^\d{1,10}$/.test(text) && Number(text) <= maximum, {
      error: ({ input }) =>
        `expected a whole number from 0 to ${maximum}, got "${input}"` +
        (String(input).includes(",") ? hint : ""),
    })
    .transform(Number)
    .clone().register(apiText, { type: "integer", minimum: 0, maximum });
}

/** A NAME in hex. */
export const NAME_PATTERN = /^(0[xX])?[0-9a-fA-F]{1,16}$/;
const nameText = z.string().refine((text) => NAME_PATTERN.test(text), {
  error: (issue) => `expected a NAME of 1 to 16 hex digits, got "${issue.input}"`,
}).clone().register(apiText, { pattern: NAME_PATTERN.source, example: "0x00a1b2c3d4e5f607" });

const nonEmpty = z.string().min(1, "must not be empty");

/** A parameter that may be given several times. */
export function repeated<T extends z.ZodType>(item: T, description: string) {
  return boundedList(item).optional().clone().register(apiText, { param: { explode: true }, description });
}

/** `true` or `false`; if repeated, the last value counts. */
export function flag(description: string) {
  return boundedList(z.enum(["true", "false"], { error: (issue) => `expected true or false, got "${issue.input}"` }))
    .optional()
    .transform((values) => values?.at(-1) === "true")
    .clone().register(apiText, { type: "boolean", default: false, description });
}

/**
 * A text parameter; if it is repeated, the last value counts.
 *
 * @param parse returns undefined, or throws a RangeError, for invalid text
 */
export function parsed<T>(parse: (text: string) => T | undefined, expected: string) {
  return boundedList(
    z.string().transform((text, context) => {
      let message = `expected ${expected}, got "${text}"`;
      try {
        const value = parse(text);
        if (value !== undefined) return value;
      } catch (error) {
        message = errorText(error);
      }
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }),
  );
}

/** The last value of a repeated parameter. */
export const last = <T>(values: readonly T[] | undefined): T | undefined => values?.at(-1);

/** Times, microseconds since 1970. */
export const timeText = parsed(parseTimestamp, "an RFC 3339 time such as 2026-01-02T03:04:05Z");

/** The parameter that asks for what was shown at a time. */
export const atParameter = timeText.optional().transform(last).clone().register(apiText, {
  type: "string",
  format: "date-time",
  description:
    "What was shown at this time, from the journal; default now. The header State-Since says from which time on " +
    "messages were known",
});

/** The parameters of the specification's Filter object. */
export const filterQuery = z.object({
  pgn: repeated(uint(MAX_UINT32), "Include these PGNs; repeatable, OR'd"),
  exclude_pgn: repeated(uint(MAX_UINT32), "Exclude these PGNs; repeatable"),
  manufacturer: repeated(nonEmpty, "Manufacturer name, in any case, or code; repeatable"),
  instance: repeated(uint(MAX_DEVICE_INSTANCE), "Device instance; repeatable"),
  name: repeated(nameText, "Include these NAMEs, hex; repeatable"),
  exclude_name: repeated(nameText, "Exclude these NAMEs, hex; repeatable"),
  bus: repeated(nonEmpty, "Name of a bus; repeatable"),
});

export const labelsFlag = flag("Add a `labels` object: the meanings of enumeration values by field name");

/** The parameters of the decoded values. */
export const decodedQuery = filterQuery.extend({ labels: labelsFlag, at: atParameter });

/** The parameters of the last values. */
export const valuesQuery = filterQuery.extend({ at: atParameter });

/** The parameters of the device table. */
export const devicesQuery = z.object({ labels: labelsFlag, at: atParameter });

/** The parameters of a stream. */
export const streamQuery = filterQuery.extend({
  decode: flag("Add a `decoded` object to each frame whose payload is known: see /pgns"),
  labels: flag("Add `decoded`, and a `labels` object with the meanings of its enumeration values"),
});

/** Maximum of `batch_ms`, milliseconds. */
export const MAX_BATCH_MS = 1000;

/** The parameters of an event stream. */
export const eventsQuery = streamQuery.extend({
  devices: flag("Also send `event: device` when the device table changes"),
  sources: flag(
    "Also send `event: source` when another device becomes the preferred source of a quantity: see /sources",
  ),
  batch_ms: boundedList(uint(MAX_BATCH_MS, "")).optional().transform((values) => values?.at(-1) ?? 0)
    .clone().register(apiText, {
      type: "integer",
      minimum: 0,
      maximum: MAX_BATCH_MS,
      default: 0,
      description:
        "Minimum time between two writes, milliseconds: frames that arrive within it are sent together; 0: as short as the load allows",
    }),
});

/** A PGN in a path. */
export const pgnPart = z.object({ pgn: uint(MAX_UINT32, "").clone().register(apiText, { description: "The PGN" }) });

/** Hex digits, two for each byte. */
export const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/** A payload in hex; if it is repeated, the last one counts. */
export const payloadQuery = z.object({
  data: z.array(z.unknown(), "is required: a payload in hex").pipe(boundedList(
    z.string().max(2 * MAX_MESSAGE_BYTES, `expected at most ${MAX_MESSAGE_BYTES} bytes`)
      .regex(HEX, "expected hex digits, two for each byte"),
  )).transform((texts) => Uint8Array.fromHex(texts.at(-1) ?? ""))
    .clone().register(apiText, {
      type: "string",
      pattern: HEX.source,
      maxLength: 2 * MAX_MESSAGE_BYTES,
      description: "The payload: hex digits, two for each byte",
    }),
});

/** No parameters. */
export const noQuery = z.object({});

/**
 * Checks the query of a URL. Unknown parameters are refused: a misspelt filter would let everything through. An endpoint
 * without parameters ignores all.
 *
 * @throws {ApiError} 400 naming the parameter
 */
export function readQuery<T extends z.ZodObject>(url: URL, schema: T): z.output<T> {
  const raw: RawQuery = {};
  const known = Object.keys(schema.shape);
  for (const key of new Set(url.searchParams.keys())) {
    if (known.includes(key)) raw[key] = url.searchParams.getAll(key);
    else if (known.length > 0 && key !== "") throw badParameter(key, `unknown: expected one of ${known.join(", ")}`);
  }
  return check(raw, { schema, where: "Query" });
}

/**
 * Checks the variable parts of a path.
 *
 * @throws {ApiError} 400 naming the part
 */
export function readParts<T extends z.ZodObject>(parts: Record<string, string>, schema: T): z.output<T> {
  return check(parts, { schema, where: "Path" });
}

function check<T extends z.ZodObject>(
  raw: unknown,
  { schema, where }: { schema: T; where: "Query" | "Path" },
): z.output<T> {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw badParameter(String(issue?.path[0]), issue?.message ?? "invalid value", { where });
}

/**
 * The filter in checked parameters, without duplicates.
 *
 * @throws {ApiError} 400 naming the parameter: the filter is too large
 */
export function filterOf(query: z.output<typeof filterQuery>): Filter {
  try {
    return boundFilter(query);
  } catch (error) {
    if (error instanceof FilterError) throw badParameter(error.field, error.message);
    throw error;
  }
}
