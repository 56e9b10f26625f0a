import { Api, type Fetch } from "./api.ts";
import { Client } from "./client.ts";
import { CloudClient } from "./cloud_client.ts";
import type { StreamSettings } from "./live_stream.ts";
import type { RetryOptions } from "./retry.ts";

/** How a client talks to its server. */
export interface ClientOptions {
  /** Access token, where the server wants one. */
  token?: string;
  /** Makes the requests; default the runtime's own. */
  fetch?: Fetch;
  /** Ends everything that the client does, with its reason. */
  signal?: AbortSignal;
  /** How streams come back after a lost connection. */
  retry?: RetryOptions;
  /** Longest wait for an answer, milliseconds; default 30 000. */
  timeoutMs?: number;
  /** A stream on which nothing comes for so long is dead, milliseconds; default 45 000. Servers break silence every 15 s. */
  silenceMs?: number;
}

const TIMEOUT_MS = 30_000;
const SILENCE_MS = 45_000;

/**
 * A client of a boat server. Nothing is asked of it yet.
 *
 * @param url address of the server: `http://boat.local:8089`
 * @throws {TypeError} that is no such address, or the token holds something that no token has
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

/** A client of a cloud server; as {@linkcode connect}. */
export function connectCloud(url: string | URL, options: ClientOptions = {}): CloudClient {
  return new CloudClient(partsOf(url, options));
}

function partsOf(url: string | URL, options: ClientOptions): { api: Api; streams: StreamSettings } {
  const { token, signal, retry = {}, timeoutMs = TIMEOUT_MS, silenceMs = SILENCE_MS } = options;
  // Called without an object: browsers insist on their own.
  const request: Fetch = options.fetch ?? ((...given) => fetch(...given));
  const headers = { ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  // A token that no header can hold is told of here, not as a server that cannot be reached.
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
