import type { Fetch } from "@vessel/gateway/client";

/** Where requests for a boat go. */
export interface ServerAddress {
  /** For people. */
  label: string;
  /** Base URL of the boat's routes, without a slash at its end. */
  url: string;
  /** Base URL of the server's own routes: the same, or the root of a cloud. */
  root: string;
  token: string | undefined;
  /** The server was found on this machine; the user named none. */
  isLocal?: boolean;
}

/** Routes that a cloud has once, not for each boat. */
const ROOT_PATHS = /^\/pgns(?:[/?]|$)/;
/** Streams: a second request means that the first connection was lost. */
const STREAM_PATHS = /\/events(?:\?|$)/;

/** Address of a boat in a cloud. */
export function cloudBoatAddress(
  cloud: string,
  { name, token }: { name: string; token: string | undefined },
): ServerAddress {
  const address = serverAddressOf(cloud, { token });
  const label = `${name} in the cloud`;
  if (address.root !== address.url) return { ...address, label };
  return { ...address, label, url: `${address.root}/instances/${encodeURIComponent(name)}` };
}

/** Splits the URL of a boat server, or of a boat in a cloud (`…/instances/ID`). */
export function serverAddressOf(address: string, { token }: { token: string | undefined }): ServerAddress {
  const url = address.replace(/\/+$/, "");
  const [, root = url] = /^(.*)\/instances\/[^/]+$/.exec(url) ?? [];
  return { label: url, url, root, token };
}

/**
 * Sends the requests of one client to the boat's current address. After a failed request, and before a stream is
 * resumed, it searches for the boat again: its address may have changed, or only its cloud may be reachable.
 */
export class BoatAddresses {
  /** The base URL that the client is created with; requests are sent to the current one. */
  readonly base: string;
  readonly #find: () => Promise<ServerAddress>;
  readonly #fetch: Fetch;
  #current: ServerAddress;
  #isLost = false;
  #search: Promise<ServerAddress> | undefined;
  #streams = 0;

  /** @param find searches for the boat; its errors become failed requests */
  constructor(
    find: () => Promise<ServerAddress>,
    { first, fetch: given }: { first: ServerAddress; fetch?: Fetch | undefined },
  ) {
    this.#find = find;
    this.#current = first;
    this.base = first.url;
    this.#fetch = given ?? ((...request) => fetch(...request));
  }

  /** The server that gets the requests. */
  get current(): ServerAddress {
    return this.#current;
  }

  /** Sends a request of the client. */
  readonly fetch: Fetch = async (address, init) => {
    const path = address.slice(this.base.length);
    const isResumed = STREAM_PATHS.test(path) && this.#streams++ > 0;
    if (this.#isLost || isResumed) await this.#searchAgain();
    const { url, root, token } = this.#current;
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
    try {
      return await this.#fetch((ROOT_PATHS.test(path) ? root : url) + path, { ...init, headers });
    } catch (error) {
      this.#isLost = true;
      throw error;
    }
  };

  /** One search at a time, shared by all requests. */
  async #searchAgain(): Promise<void> {
    this.#search ??= this.#find().finally(() => this.#search = undefined);
    this.#current = await this.#search;
    this.#isLost = false;
  }
}
