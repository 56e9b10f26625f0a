import type { ListenAddress } from "../base/mod.ts";
import type { Connections } from "./connections.ts";
import { type Handler, HttpServer, type HttpServerOptions } from "./http_server.ts";
import { openPortListener, type PortListener } from "./listener.ts";
import { openTlsListener } from "./tls_listener.ts";
import type { TlsSource } from "./tls_files.ts";

/** Options of {@linkcode listen}. */
export interface ListenOptions extends HttpServerOptions {
  connections: Connections;
}

/** Options of {@linkcode listenTls}. */
export interface TlsListenOptions extends ListenOptions {
  tls: TlsSource;
}

/** A listening server. */
export interface Listener {
  /** Bound address. */
  readonly address: ListenAddress;
  /** Waits a short time for pending replies, then closes all connections. End the streams first. */
  stop: () => Promise<void>;
}

/**
 * Listens for HTTP.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function listen(address: ListenAddress, { connections, ...options }: ListenOptions): Promise<Listener> {
  const server = new HttpServer(options);
  const accept = server.accept.bind(server);
  return listenerOf(await openPortListener(address, { connections, log: options.log, accept }), { server });
}

/**
 * Listens for HTTPS. A replaced certificate applies to new connections; open streams continue.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function listenTls(address: ListenAddress, options: TlsListenOptions): Promise<Listener> {
  const server = new HttpServer(options);
  const accept = server.accept.bind(server);
  const port = await openTlsListener(address, { ...options, protocols: ["http/1.1"], accept });
  return listenerOf(port, { server, end: port.end });
}

/** The listener of an open port. To stop, it stops `server` and then calls `end`. */
export function listenerOf(
  port: PortListener,
  { server, end = () => {} }: { server?: HttpServer; end?: () => void },
): Listener {
  return {
    address: port.address,
    stop: async () => {
      port.close();
      await server?.stop();
      end();
    },
  };
}

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
