import type { ListenAddress } from "../base/mod.ts";
import type { Connections } from "./connections.ts";
import { HttpServer, type HttpServerOptions } from "./http_server.ts";
import { openPortListener } from "./listener.ts";

/** Options of {@linkcode listen}. */
export interface ListenOptions extends HttpServerOptions {
  connections: Connections;
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
  const listener = await openPortListener(address, { connections, log: options.log, accept });
  return {
    address: listener.address,
    stop: async () => {
      listener.close();
      await server.stop();
    },
  };
}
