import type { Handler } from "./http_server.ts";

/** Answers requests of a port that listens before its server has started: they wait for the end of the start. */
export class PendingHandler {
  readonly #handler = Promise.withResolvers<Handler>();

  /** Answers a request as the server's handler does. */
  readonly handle: Handler = async (request, from) => (await this.#handler.promise)(request, from);

  /** The server has started: `handler` answers from now on, requests that wait included. */
  started(handler: Handler): void {
    this.#handler.resolve(handler);
  }

  /** The start has failed: requests that wait get 503. */
  failed(): void {
    this.#handler.resolve(() => Promise.resolve(new Response(null, { status: 503 })));
  }
}
