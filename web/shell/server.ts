import { type Signal, signal } from "@preact/signals";
import {
  ApiError,
  type Client,
  type CloudClient,
  connect,
  connectCloud,
  type Fetch,
  type ServerInfo,
} from "@vessel/gateway/client";
import { ServerClock } from "./server_clock.ts";

const TOKEN_KEY = "vbg.token";

/** State of the page's access to the server. */
export type Access =
  | { type: "connecting" }
  /** `message`: why the last token was refused. */
  | { type: "login"; message: string | undefined }
  | { type: "unreachable"; message: string }
  | { type: "ready"; server: Server };

/** The server that the page came from. */
export interface Server {
  info: ServerInfo;
  /** The boat server's client; in a cloud, use {@linkcode Server.cloud}. */
  client: Client;
  /** Left out: the server is a boat's. */
  cloud?: CloudClient;
  clock: ServerClock;
}

export const access: Signal<Access> = signal<Access>({ type: "connecting" });

/** The token of this tab: never in a URL, gone when the tab is closed. */
let token: string | undefined = readToken();

/** Logs in with a token, or reads the server's summary again with the one of the tab. */
export async function openServer(given: string | undefined = token): Promise<void> {
  const clock = new ServerClock();
  const request: Fetch = async (url, init) => {
    const response = await fetch(url, init);
    clock.replied(response.headers.get("Date"));
    if (response.status === 401) {
      access.value = { type: "login", message: given && "The server does not know this token" };
    }
    return response;
  };
  try {
    const options = { fetch: request, retry: { capMs: 5000 }, ...(given && { token: given }) };
    const client = connect(location.origin, options);
    const info = await client.server();
    keepToken(given);
    const cloud = info.kind === "cloud" && { cloud: connectCloud(location.origin, options) };
    access.value = { type: "ready", server: { info, client, clock, ...cloud } };
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    const message = error instanceof Error ? error.message : String(error);
    access.value = given !== undefined && error instanceof TypeError
      ? { type: "login", message: "A token has no such characters" }
      : { type: "unreachable", message };
  }
}

/** Requests a path of the server with the token of the tab, for what the client library has no call for. */
export async function fetchWithToken(path: string, { signal }: { signal?: AbortSignal } = {}): Promise<Response> {
  const headers = { ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  return await fetch(new URL(path, location.origin), { headers, ...(signal && { signal }) });
}

/** Forgets the token. */
export function logOut(): void {
  keepToken(undefined);
  access.value = { type: "login", message: undefined };
}

/** Whether the tab has a token. */
export function hasToken(): boolean {
  return token !== undefined;
}

function keepToken(given: string | undefined): void {
  token = given;
  try {
    if (given === undefined) sessionStorage.removeItem(TOKEN_KEY);
    else sessionStorage.setItem(TOKEN_KEY, given);
  } catch {
    // Storage is off: the token is asked for again after a reload.
  }
}

function readToken(): string | undefined {
  try {
    return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
