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

/** 400 that names the parameter. */
export function badParameter(
  parameter: string,
  reason: string,
  { where = "Query" }: { where?: "Query" | "Path" } = {},
): ApiError {
  return new ApiError(400, `${where} parameter "${parameter}": ${reason}`, { members: { parameter } });
}

/** 503 with a word on when to try again, seconds. */
export function overloaded(detail: string, retryAfterS: number): ApiError {
  return new ApiError(503, detail, { headers: { "Retry-After": String(retryAfterS) } });
}

const texts = new WeakMap<Response, string>();

/** A reply whose body is there as a whole: it is sent in one piece, without reading the `Response` as a stream. */
export function textReply(text: string, init: ResponseInit): Response {
  const response = new Response(text, init);
  texts.set(response, text);
  return response;
}

/** The body of a {@linkcode textReply}. */
export function textOf(response: Response): string | undefined {
  return texts.get(response);
}

/** A value as JSON. */
export function json(value: unknown, status = 200): Response {
  return textReply(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
}

/** A list is made and sent in slices of about this many characters … */
const SLICE_CHARACTERS = 65_536;
/** … or of what is made in so long: definitions are built and decoders compiled when they are first asked for. */
const SLICE_MS = 2;
const encoder = new TextEncoder();

/**
 * A list as JSON, made while it is sent, so that a long one holds neither the event loop nor the memory.
 *
 * @param options.member the list is this member of an object; default the list alone
 */
export function jsonList(items: Iterable<unknown>, { member }: { member?: string } = {}): Response {
  return new Response(slices(jsonTexts(items, member)), { headers: { "Content-Type": "application/json" } });
}

/** Texts as a body, made while it is sent. An empty text says that work was done for those to come. */
export function slices(texts: Iterable<string>): ReadableStream<Uint8Array> {
  const rest = texts[Symbol.iterator]();
  let begun = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let slice: { text: string; done: boolean };
      do {
        // A client that takes all at once would have slice after slice made in one turn.
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

/** As much as may be made in one turn. */
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

/** An error as a problem; what is no {@linkcode ApiError} becomes a 500 that tells nothing of the inside. */
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

/** Answer to a browser's question whether it may ask: yes, on every path. */
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

/** Adds what every reply has: CORS, and gzip where the client asked for it. */
export function finish(request: Request, response: Response): Response {
  for (const [name, value] of Object.entries(CORS_HEADERS)) response.headers.set(name, value);
  const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") ?? false;
  if (isStream || response.status === 204 || response.status === 304) return response;
  response.headers.append("Vary", "Accept-Encoding");
  if (!acceptsGzip(request.headers.get("Accept-Encoding") ?? "")) return response;
  if (!response.body) return response;
  response.headers.set("Content-Encoding", "gzip");
  response.headers.delete("Content-Length");
  return new Response(response.body.pipeThrough(new CompressionStream("gzip")), response);
}

/** True when `Accept-Encoding` takes gzip, by name or by `*`, with a weight above zero (RFC 9110 §12.5.3). */
export function acceptsGzip(header: string): boolean {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const quality = parameters.find((text) => text.startsWith("q="))?.slice(2);
    weights.set(coding, quality === undefined ? 1 : Number(quality));
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
