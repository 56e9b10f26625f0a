import type { Handler } from "./http_server.ts";

/** Handler of a port that listens before its server has started: requests wait for the end of the start. */
export class PendingHandler {
  readonly #handler = Promise.withResolvers<Handler>();

  /** Answers a request with the server's handler, once known. */
  readonly handle: Handler = async (request, from) => (await this.#handler.promise)(request, from);

  /** The server has started: `handler` answers waiting and new requests. */
  started(handler: Handler): void {
    this.#handler.resolve(handler);
  }

  /** The start has failed: requests get 503. */
  failed(): void {
    this.#handler.resolve(() => Promise.resolve(new Response(null, { status: 503 })));
  }
}
