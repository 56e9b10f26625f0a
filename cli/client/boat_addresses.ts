import type { Fetch } from "@vessel/gateway/client";

/** Where a boat can be asked now. */
export interface ServerPlace {
  /** For people. */
  label: string;
  /** Base address of the boat's paths, without a slash at its end. */
  url: string;
  /** The server's own paths: the same, or of a cloud its root. */
  root: string;
  token: string | undefined;
  /** It was found on this machine, without anybody having named it. */
  isLocal?: boolean;
}

/** Paths that a cloud has once, not for each boat. */
const ROOT_PATHS = /^\/pgns(?:[/?]|$)/;
/** Requests whose answer goes on for ever: after the first, each means that the one before was lost. */
const STREAM_PATHS = /\/events(?:\?|$)/;

/** Address of a boat in a cloud as a place. */
export function cloudPlace(cloud: string, { name, token }: { name: string; token: string | undefined }): ServerPlace {
  const place = placeOf(cloud, { token });
  const label = `${name} in the cloud`;
  if (place.root !== place.url) return { ...place, label };
  return { ...place, label, url: `${place.root}/instances/${encodeURIComponent(name)}` };
}

/** An address that was given as a place: that of a boat server, or of a boat in a cloud (`…/instances/ID`). */
export function placeOf(address: string, { token }: { token: string | undefined }): ServerPlace {
  const url = address.replace(/\/+$/, "");
  const [, root = url] = /^(.*)\/instances\/[^/]+$/.exec(url) ?? [];
  return { label: url, url, root, token };
}

/**
 * The requests of one client, sent to wherever its boat is: it is looked for again when it could not be reached, and
 * when a stream is begun again. So a client keeps its place while the boat's address changes or its cloud stands in.
 */
export class BoatAddresses {
  /** What the client takes for the server's address. */
  readonly base: string;
  readonly #find: () => Promise<ServerPlace>;
  readonly #fetch: Fetch;
  #place: ServerPlace;
  #isLost = false;
  #looking: Promise<ServerPlace> | undefined;
  #streams = 0;

  /** @param find searches for the boat; its errors become failed requests */
  constructor(
    find: () => Promise<ServerPlace>,
    { first, fetch: given }: { first: ServerPlace; fetch?: Fetch | undefined },
  ) {
    this.#find = find;
    this.#place = first;
    this.base = first.url;
    this.#fetch = given ?? ((...request) => fetch(...request));
  }

  /** The server that gets the requests. */
  get current(): ServerPlace {
    return this.#place;
  }

  /** Sends a request of the client. */
  readonly fetch: Fetch = async (address, init) => {
    const path = address.slice(this.base.length);
    const isAgain = STREAM_PATHS.test(path) && this.#streams++ > 0;
    if (this.#isLost || isAgain) await this.#pollServer();
    const { url, root, token } = this.#place;
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
  async #pollServer(): Promise<void> {
    this.#looking ??= this.#find().finally(() => this.#looking = undefined);
    this.#place = await this.#looking;
    this.#isLost = false;
  }
}
