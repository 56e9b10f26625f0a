import { type OpenBody, readTexts } from "./body.ts";
import { Cancel } from "./cancel.ts";
import { ApiError, ConnectionError } from "./errors.ts";
import type { Problem } from "./types.ts";

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of {@linkcode Api}. */
export interface ApiOptions {
  /** Base URL of all paths, without a trailing slash. */
  base: string;
  fetch: Fetch;
  headers: Record<string, string>;
  /** Aborts all requests. */
  signal: AbortSignal | undefined;
  /** Default timeout of a request, milliseconds. */
  timeoutMs: number;
}

/** A request. */
export interface ApiRequest {
  method?: "GET" | "PUT" | "POST" | "DELETE";
  /** Parameters; a list is sent as a repeated parameter. */
  query?: Record<string, QueryValue>;
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** The request ignores the signal of the client. */
  isLast?: boolean;
  /** Timeout, milliseconds; default the client's, 0: none. */
  timeoutMs?: number;
  /** An error status that is accepted if the response is JSON. */
  acceptStatus?: number;
  /** Receives the headers of a response that is no error. */
  onHeaders?: (headers: Headers) => void;
}

/** Value of a parameter; undefined and false are omitted. */
export type QueryValue = string | number | boolean | readonly (string | number)[] | undefined;

/** A response whose body is read while it arrives. */
export interface OpenReply extends OpenBody {
  headers: Headers;
  /** Aborts the response and releases the connection. Must always be called. */
  close(): void;
}

/** Requests to a server, or to a path of it. */
export class Api {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** The same server below a path, with additional headers. */
  at(path: string, { headers = {} }: { headers?: Record<string, string> } = {}): Api {
    const { base, headers: all } = this.#options;
    return new Api({ ...this.#options, base: base + path, headers: { ...all, ...headers } });
  }

  /**
   * Sends a request and parses the JSON of the response.
   *
   * @throws {ApiError} the server responds with an error
   * @throws {ConnectionError} there is no response, or it is not JSON
   */
  async json<T>(path: string, request: ApiRequest = {}): Promise<T> {
    const text = await this.#whole(path, request);
    return parseJson<T>(text, this.#name(path, request));
  }

  /** Sends a request and returns the text of the response. Errors are those of {@linkcode Api.json}. */
  async text(path: string, request: ApiRequest = {}): Promise<string> {
    return await this.#whole(path, request);
  }

  /** Sends a request and ignores the body of the response. Errors are those of {@linkcode Api.json}. */
  async done(path: string, request: ApiRequest = {}): Promise<void> {
    await this.#whole(path, request);
  }

  /** Sends a request and returns the response unread. The timeout applies to the headers only. */
  async open(path: string, request: ApiRequest = {}): Promise<OpenReply> {
    const cancel = this.#cancelOf(path, request);
    const close = () => {
      cancel.abort(new ConnectionError("The response was closed"));
      cancel.release();
    };
    try {
      const response = await this.#send(path, request, cancel);
      cancel.clearTimeout();
      return { body: bodyOf(response), headers: response.headers, cancel, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  async #whole(path: string, request: ApiRequest): Promise<string> {
    const cancel = this.#cancelOf(path, request);
    try {
      const response = await this.#send(path, request, cancel);
      request.onHeaders?.(response.headers);
      return await readText(response, cancel);
    } finally {
      cancel.release();
    }
  }

  async #send(path: string, request: ApiRequest, cancel: Cancel): Promise<Response> {
    const { method = "GET", query = {}, body, acceptStatus } = request;
    const name = this.#name(path, request);
    let response: Response;
    try {
      cancel.signal.throwIfAborted();
      response = await this.#options.fetch(this.#options.base + path + queryText(query), {
        method,
        headers: { ...this.#options.headers, ...(body !== undefined && { "Content-Type": "application/json" }) },
        signal: cancel.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      cancel.signal.throwIfAborted();
      throw new ConnectionError(`${name}: the server cannot be reached`, { cause: error });
    }
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json") ?? false;
    if (response.ok || (response.status === acceptStatus && isJson)) return response;
    const problem = problemOf(response, await readText(response, cancel));
    throw new ApiError(name, { problem, retryAfterMs: retryAfterOf(response) });
  }

  #cancelOf(path: string, request: ApiRequest): Cancel {
    const { signal, isLast = false, timeoutMs = this.#options.timeoutMs } = request;
    const cancel = new Cancel([isLast ? undefined : this.#options.signal, signal]);
    const name = this.#name(path, request);
    if (timeoutMs > 0) {
      cancel.setTimeout(timeoutMs, () => new ConnectionError(`${name}: no response within ${timeoutMs / 1000} s`));
    }
    return cancel;
  }

  #name(path: string, { method = "GET" }: ApiRequest): string {
    return `${method} ${this.#options.base}${path}`;
  }
}

/** Parses JSON. `name` says in the error what it is. @throws {ConnectionError} the text is not JSON */
export function parseJson<T>(text: string, name: string): T {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConnectionError(`${name}: expected JSON, got something else`, { cause: error });
  }
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/**
 * Converts milliseconds, or a text such as `1h30m`, to an ISO 8601 duration. Any other text, such as one that is ISO 8601
 * already, is returned unchanged: the server checks it.
 */
export function isoDuration(duration: number | string): string {
  if (typeof duration === "number") return secondsText(duration / 1000);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(duration)) return duration;
  let seconds = 0;
  for (const [, amount, unit = ""] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit] ?? 0);
  }
  return secondsText(seconds);
}

function secondsText(seconds: number): string {
  return `PT${Math.round(seconds * 1000) / 1000}S`;
}

/** Encodes a part of a path. */
export function pathPart(text: string | number): string {
  return encodeURIComponent(text);
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  return response.body ?? new Blob([]).stream();
}

async function readText(response: Response, cancel: Cancel): Promise<string> {
  let whole = "";
  for await (const text of readTexts({ body: bodyOf(response), cancel })) whole += text;
  return whole;
}

function queryText(query: Record<string, QueryValue>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== false) parameters.append(name, String(each));
    }
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}

/** Maximum length of the detail of an error response that is not a problem, for example the page of a proxy. */
const MAX_DETAIL_CHARACTERS = 200;

function problemOf({ status, statusText }: Response, text: string): Problem {
  try {
    const problem: unknown = JSON.parse(text);
    if (isProblem(problem)) return problem;
  } catch {
    // The response of a proxy.
  }
  const detail = text.trim().slice(0, MAX_DETAIL_CHARACTERS) || statusText || "no reason given";
  return { type: "about:blank", title: statusText, status, detail };
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "status" in value && typeof value.status === "number" &&
    "detail" in value && typeof value.detail === "string";
}

function retryAfterOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get("Retry-After") ?? NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
