import { Api, type Fetch } from "./api.ts";
import { Client } from "./client.ts";
import { CloudClient } from "./cloud_client.ts";
import type { StreamSettings } from "./live_stream.ts";
import type { RetryOptions } from "./retry.ts";

/** Options of a client. */
export interface ClientOptions {
  /** Access token, if the server requires one. */
  token?: string;
  /** Replaces the runtime's `fetch`. */
  fetch?: Fetch;
  /** Aborts all calls and streams of the client with its reason. */
  signal?: AbortSignal;
  /** Reconnection of streams. */
  retry?: RetryOptions;
  /** Timeout of a call, milliseconds; default 30 000. */
  timeoutMs?: number;
  /** A stream reconnects after this time without data, milliseconds; default 45 000. Servers send every 15 s. */
  silenceMs?: number;
}

const TIMEOUT_MS = 30_000;
const SILENCE_MS = 45_000;

/**
 * Creates a client of a boat server. Makes no request.
 *
 * @param url URL of the server: `http://boat.local:8089`
 * @throws {TypeError} the URL is invalid, or the token contains characters that a header cannot
 *
 * @example
 * ```ts
 * import { connect } from "@vessel/gateway/client";
 *
 * const client = connect("http://boat.local:8089", { retry: { capMs: 5000 } });
 * ```
 */
export function connect(url: string | URL, options: ClientOptions = {}): Client {
  const parts = partsOf(url, options);
  return new Client({ ...parts, root: parts.api });
}

/** Creates a client of a cloud server; see {@linkcode connect}. */
export function connectCloud(url: string | URL, options: ClientOptions = {}): CloudClient {
  return new CloudClient(partsOf(url, options));
}

function partsOf(url: string | URL, options: ClientOptions): { api: Api; streams: StreamSettings } {
  const { token, signal, retry = {}, timeoutMs = TIMEOUT_MS, silenceMs = SILENCE_MS } = options;
  // A wrapper: browsers throw when `fetch` is called as a method of another object.
  const request: Fetch = options.fetch ?? ((...given) => fetch(...given));
  const headers = { ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  // Throws on an invalid token, which would otherwise be reported as an unreachable server.
  new Headers(headers);
  const api = new Api({ base: baseOf(url), fetch: request, headers, signal, timeoutMs });
  return { api, streams: { retry, silenceMs, timeoutMs, signal: undefined, clientSignal: signal } };
}

function baseOf(url: string | URL): string {
  const wrong = () => new TypeError(`Cannot connect to "${url}": expected an address such as http://boat.local:8089`);
  if (!URL.canParse(url)) throw wrong();
  const { protocol, href, search, hash } = new URL(url);
  if (!/^https?:$/.test(protocol) || search !== "" || hash !== "") throw wrong();
  return href.replace(/\/+$/, "");
}
