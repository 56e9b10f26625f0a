import { apiText } from "./api_text.ts";
import { z } from "zod";
import { parseDuration } from "../base/mod.ts";
import { boundFilter, type Filter, FilterError, MAX_FILTER_ENTRIES } from "../filter/mod.ts";
import { boundedList, MAX_DEVICE_INSTANCE, MAX_LIST_ENTRIES, MAX_UINT32, NAME_PATTERN } from "./params.ts";
import { ApiError } from "./reply.ts";

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const pgns = boundedList(z.int().min(0).max(MAX_UINT32)).nullish();
const names = boundedList(z.string().regex(NAME_PATTERN, "expected a NAME of 1 to 16 hex digits")).nullish();
const texts = boundedList(z.string().min(1, "must not be empty")).nullish();
const instances = boundedList(z.int().min(0).max(MAX_DEVICE_INSTANCE));
/** Base64 characters for that many bytes. */
const MAX_BASE64 = Math.ceil(MAX_LIST_ENTRIES / 3) * 4;

/** A list of instances; base64 is how some client libraries write a list of bytes. */
const instanceList = z.union([
  instances,
  z.string().max(MAX_BASE64, `expected at most ${MAX_LIST_ENTRIES} entries`).regex(
    BASE64,
    "expected a list of numbers, or base64",
  ).transform((
    text,
  ) => [...Uint8Array.fromBase64(text)])
    .pipe(instances),
]).nullish();

/** The specification's Filter object. Null means left out; unknown fields are refused. */
export const filterSchema = z.strictObject({
  pgn: pgns,
  exclude_pgn: pgns,
  manufacturer: texts,
  instance: instanceList,
  name: names,
  exclude_name: names,
  bus: texts,
}).transform((filter, context): Filter => {
  try {
    return boundFilter(filter);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    context.addIssue({ code: "custom", path: [error.field], message: error.message });
    return z.NEVER;
  }
}).clone().register(apiText, {
  refId: "Filter",
  description: `At most ${MAX_FILTER_ENTRIES} entries in all lists together; duplicates do not count`,
});

/** A time span above zero, in milliseconds. */
const timeout = z.string().transform((text, context) => {
  try {
    const ms = parseDuration(text);
    if (ms >= 1) return ms;
    context.addIssue(`must be longer than zero, got "${text}"`);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.addIssue(error.message);
  }
  return z.NEVER;
}).clone().register(apiText, { type: "string", description: "ISO 8601 duration, or 5m, 1h30m", example: "PT5M" });

/** Body that creates a session. */
export const sessionBody = z.strictObject({
  buffer_timeout: timeout,
  filter: filterSchema.nullish(),
}).clone().register(apiText, { refId: "SessionRequest" });

export const ackBody = z.strictObject({ seq: z.int().min(0) }).clone().register(apiText, { refId: "Acknowledgement" });

/** Limits of a request body. */
export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
}

/**
 * Reads a JSON body and checks it. The Content-Type is ignored.
 *
 * @throws {ApiError} 413 too large, 408 too slow, 400 naming the field
 */
export async function readBody<T extends z.ZodType>(
  request: Request,
  schema: T,
  limits: BodyLimits,
): Promise<z.output<T>> {
  const bytes = await readBytes(request, limits);
  // A body that may be left out.
  if (bytes.length === 0 && schema.safeParse(undefined).success) return checkBody(undefined, schema);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    throw new ApiError(400, bytes.length === 0 ? "The body is empty: expected JSON" : "The body is not JSON in UTF-8");
  }
  return checkBody(value, schema);
}

/** @throws {ApiError} 400 naming the field */
export function checkBody<T extends z.ZodType>(value: unknown, schema: T): z.output<T> {
  const result = schema.safeParse(value, { error: ({ input }) => input === undefined ? "is missing" : undefined });
  if (result.success) return result.data;
  throw badField(result.error);
}

/** 400 that names the first invalid field. */
function badField(error: z.ZodError): ApiError {
  const issue = firstIssue(error.issues);
  const path = [...issue?.path ?? [], ...(issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [])];
  const field = path.map((part, at) => typeof part === "number" ? `[${part}]` : `${at > 0 ? "." : ""}${String(part)}`)
    .join("");
  const why = issue?.code === "unrecognized_keys" ? "unknown field" : issue?.message ?? "invalid value";
  if (field === "") return new ApiError(400, `Invalid body: ${why}`);
  return new ApiError(400, `Field "${field}": ${why}`, { members: { field } });
}

/**
 * The first issue. For a union it is that of the closest alternative: the one whose issue is nested deepest, else one of
 * the same type as the value.
 */
function firstIssue(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  const [issue] = issues;
  if (issue?.code !== "invalid_union") return issue;
  const [inner] = issue.errors.map(firstIssue).filter((each) => each !== undefined)
    .sort((a, b) => b.path.length - a.path.length || Number(isOtherType(a)) - Number(isOtherType(b)));
  return inner ? { ...inner, path: [...issue.path, ...inner.path] } : issue;
}

function isOtherType({ code }: z.core.$ZodIssue): boolean {
  return code === "invalid_type";
}

async function readBytes(request: Request, { maxBytes, timeoutMs }: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new ApiError(413, `The body is larger than ${maxBytes} bytes: see -max-body-bytes`);
  if (Number(request.headers.get("Content-Length") ?? 0) > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    reader?.cancel().catch(() => {});
  }, timeoutMs);
  try {
    for (;;) {
      const { value, done } = await reader?.read().catch(() => {
        throw new ApiError(400, "The connection ended before the body was complete");
      }) ?? { done: true };
      if (isTimedOut) throw new ApiError(408, `The body took longer than ${timeoutMs / 1000} s: see -body-timeout`);
      if (done || !value) break;
      length += value.length;
      if (length > maxBytes) throw tooLarge();
      chunks.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
