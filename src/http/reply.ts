import { turn } from "../base/mod.ts";
import { STATUS_CODES } from "node:http";

/** A request that cannot be answered as asked; becomes an RFC 9457 problem. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly members: Record<string, unknown>;
  readonly headers: Record<string, string>;

  /**
   * @param status HTTP status code
   * @param detail what is wrong with this request, for a person
   * @param options.members further members of the problem
   * @param options.headers further headers of the reply
   */
  constructor(
    status: number,
    detail: string,
    { members = {}, headers = {} }: { members?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.status = status;
    this.members = members;
    this.headers = headers;
  }
}

export function badParameter(
  parameter: string,
  reason: string,
  { where = "Query" }: { where?: "Query" | "Path" } = {},
): ApiError {
  return new ApiError(400, `${where} parameter "${parameter}": ${reason}`, { members: { parameter } });
}

/** Retry-After of a 503, seconds. */
export const RETRY_AFTER_S = 5;

/** 503 with Retry-After. */
export function overloaded(detail: string): ApiError {
  return new ApiError(503, detail, { headers: { "Retry-After": String(RETRY_AFTER_S) } });
}

/** The server keeps no journal. */
export function recordingOff(): ApiError {
  return new ApiError(503, "Recording is off: see -journal-dir");
}

const texts = new WeakMap<Response, string>();

/** A reply with a complete body, which is sent at once without reading the `Response` as a stream. */
export function textReply(text: string, init: ResponseInit): Response {
  const response = new Response(text, init);
  texts.set(response, text);
  return response;
}

/** The body of a {@linkcode textReply}. */
export function textOf(response: Response): string | undefined {
  return texts.get(response);
}

export function json(value: unknown, status = 200): Response {
  return textReply(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
}

/** Approximate size of a slice of a list, characters. */
const SLICE_CHARACTERS = 65_536;
/** Maximum time for generating a slice: the first use of a PGN builds its definition and compiles its decoder. */
const SLICE_MS = 2;
const encoder = new TextEncoder();

/**
 * A list as JSON, generated while it is sent, so that a long list blocks neither the event loop nor much memory.
 *
 * @param options.member name of the object member that holds the list; default: the list itself
 */
export function jsonList(items: Iterable<unknown>, { member }: { member?: string } = {}): Response {
  return new Response(slices(jsonTexts(items, member)), { headers: { "Content-Type": "application/json" } });
}

/** Texts as a body, generated while it is sent. An empty text marks a point where generation may pause. */
export function slices(texts: Iterable<string>): ReadableStream<Uint8Array> {
  const rest = texts[Symbol.iterator]();
  let begun = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let slice: { text: string; done: boolean };
      do {
        // For a fast client all slices would be generated in one turn.
        if (begun) await turn();
        begun = true;
        slice = takeSlice(rest);
      } while (slice.text === "" && !slice.done);
      if (slice.text !== "") controller.enqueue(encoder.encode(slice.text));
      if (slice.done) controller.close();
    },
    cancel() {
      rest.return?.();
    },
  }, { highWaterMark: 0 });
}

/** Generates the text of one turn. */
function takeSlice(texts: Iterator<string>): { text: string; done: boolean } {
  const endMs = performance.now() + SLICE_MS;
  let text = "";
  do {
    const next = texts.next();
    if (next.done) return { text, done: true };
    text += next.value;
  } while (text.length < SLICE_CHARACTERS && performance.now() < endMs);
  return { text, done: false };
}

function* jsonTexts(items: Iterable<unknown>, member: string | undefined): Generator<string, void> {
  const [head, tail] = member === undefined ? ["[", "]"] : [`{${JSON.stringify(member)}:[`, "]}"];
  let before = head;
  for (const item of items) {
    yield before + JSON.stringify(item);
    before = ",";
  }
  yield before === head ? head + tail : tail;
}

/** An error as a problem. Errors other than {@linkcode ApiError} become a 500 without internal details. */
export function problem(error: unknown): Response {
  const known = error instanceof ApiError ? error : new ApiError(500, "The server failed to answer this request");
  const { status, message, members, headers } = known;
  const body = { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, detail: message, ...members };
  return textReply(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });
}

const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "*",
} as const;

/** Reply to a CORS preflight: everything is allowed on every path. */
export function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...CORS_HEADERS,
      "Access-Control-Allow-Methods": "GET, HEAD, PUT, POST, DELETE, OPTIONS",
      "Access-Control-Allow-Headers": "Authorization, X-API-Key, Content-Type",
      "Access-Control-Max-Age": "86400",
    },
  });
}

/** Adds the CORS headers, and gzip if the client accepts it. */
export function finish(request: Request, response: Response): Response {
  for (const [name, value] of Object.entries(CORS_HEADERS)) response.headers.set(name, value);
  const type = response.headers.get("Content-Type") ?? "";
  // Blocks of a journal are compressed already.
  const isSentAsIs = type.startsWith("text/event-stream") || type === "application/octet-stream";
  if (isSentAsIs || response.status === 204 || response.status === 304) return response;
  response.headers.append("Vary", "Accept-Encoding");
  if (!acceptsGzip(request.headers.get("Accept-Encoding") ?? "")) return response;
  if (!response.body) return response;
  response.headers.set("Content-Encoding", "gzip");
  response.headers.delete("Content-Length");
  return new Response(response.body.pipeThrough(new CompressionStream("gzip")), response);
}

/** True if `Accept-Encoding` accepts gzip, by name or by `*`, with a weight above zero (RFC 9110 §12.5.3). */
export function acceptsGzip(header: string): boolean {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const quality = parameters.find((text) => text.startsWith("q="))?.slice(2);
    weights.set(coding, quality === undefined ? 1 : Number(quality));
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
