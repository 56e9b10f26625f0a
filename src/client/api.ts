import { type OpenBody, readTexts } from "./body.ts";
import { Cancel } from "./cancel.ts";
import { ApiError, ConnectionError } from "./errors.ts";
import type { Problem } from "./types.ts";

/** `fetch`, as far as it is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How a server is asked. */
export interface ApiOptions {
  /** Base of all paths, without a slash at its end. */
  base: string;
  fetch: Fetch;
  headers: Record<string, string>;
  /** Ends everything. */
  signal: AbortSignal | undefined;
  /** Longest wait for an answer. */
  timeoutMs: number;
}

/** A request. */
export interface ApiRequest {
  method?: "GET" | "PUT" | "POST" | "DELETE";
  /** Parameters; a list is repeated. */
  query?: Record<string, QueryValue>;
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** It goes on when the client as a whole is ended. */
  isLast?: boolean;
  /** Longest wait for the answer, milliseconds; default the client's, 0: for ever. */
  timeoutMs?: number;
  /** A status that is an answer, too, when it comes with JSON. */
  alsoGood?: number;
}

/** What may be a parameter; what is undefined is left out. */
export type QueryValue = string | number | boolean | readonly (string | number)[] | undefined;

/** A reply whose body is read while it comes. */
export interface OpenReply extends OpenBody {
  headers: Headers;
  /** Ends it, and gives the connection back. To be called in any case. */
  close(): void;
}

/** The requests of one server, or of a path of it. */
export class Api {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** The same server below a path, asked with further headers. */
  at(path: string, { headers = {} }: { headers?: Record<string, string> } = {}): Api {
    const { base, headers: all } = this.#options;
    return new Api({ ...this.#options, base: base + path, headers: { ...all, ...headers } });
  }

  /**
   * Asks, and reads the answer's JSON.
   *
   * @throws {ApiError} the server refuses
   * @throws {ConnectionError} there is no answer, or it is no JSON
   */
  async json<T>(path: string, request: ApiRequest = {}): Promise<T> {
    const text = await this.#whole(path, request);
    return parseJson<T>(text, this.#name(path, request));
  }

  /** The same where the answer has no body. */
  async done(path: string, request: ApiRequest = {}): Promise<void> {
    await this.#whole(path, request);
  }

  /** Asks, and gives the body unread. The time limit holds for the head alone. */
  async open(path: string, request: ApiRequest = {}): Promise<OpenReply> {
    const cancel = this.#cancelOf(path, request);
    const close = () => {
      cancel.abort(new ConnectionError("The reply is not read any more"));
      cancel.release();
    };
    try {
      const response = await this.#send(path, request, cancel);
      cancel.inTime();
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
      return await readText(response, cancel);
    } finally {
      cancel.release();
    }
  }

  async #send(path: string, request: ApiRequest, cancel: Cancel): Promise<Response> {
    const { method = "GET", query = {}, body, alsoGood } = request;
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
    if (response.ok || (response.status === alsoGood && isJson)) return response;
    const problem = problemOf(response, await readText(response, cancel));
    throw new ApiError(name, { problem, retryAfterMs: retryAfterOf(response) });
  }

  #cancelOf(path: string, request: ApiRequest): Cancel {
    const { signal, isLast = false, timeoutMs = this.#options.timeoutMs } = request;
    const cancel = new Cancel([isLast ? undefined : this.#options.signal, signal]);
    const name = this.#name(path, request);
    if (timeoutMs > 0) {
      cancel.within(timeoutMs, () => new ConnectionError(`${name}: no answer within ${timeoutMs / 1000} s`));
    }
    return cancel;
  }

  #name(path: string, { method = "GET" }: ApiRequest): string {
    return `${method} ${this.#options.base}${path}`;
  }
}

/** @throws {ConnectionError} it is none */
export function parseJson<T>(text: string, name: string): T {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConnectionError(`${name}: what came is no JSON`, { cause: error });
  }
}

/** A number or text that stands in a path. */
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

/** Most characters shown of an answer that is no problem: a page of some proxy. */
const SHOWN_CHARACTERS = 200;

function problemOf({ status, statusText }: Response, text: string): Problem {
  try {
    const problem: unknown = JSON.parse(text);
    if (isProblem(problem)) return problem;
  } catch {
    // It is somebody else's answer.
  }
  const detail = text.trim().slice(0, SHOWN_CHARACTERS) || statusText || "no reason given";
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
