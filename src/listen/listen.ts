import type { ListenAddress } from "../base/mod.ts";
import type { Connections } from "./connections.ts";
import { HttpServer, type HttpServerOptions } from "./http_server.ts";
import { openPortListener } from "./listener.ts";

/** What a server for HTTP is made of. */
export interface ListenOptions extends HttpServerOptions {
  connections: Connections;
}

/** A server that listens. */
export interface Listener {
  /** Where it really listens. */
  readonly address: ListenAddress;
  /** Lets the replies under way end, for a short while, and closes all connections; end the streams first. */
  stop: () => Promise<void>;
}

/**
 * Listens for HTTP.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function listen(address: ListenAddress, { connections, ...options }: ListenOptions): Promise<Listener> {
  const server = new HttpServer(options);
  const take = server.accept.bind(server);
  const door = await openPortListener(address, { connections, log: options.log, take });
  return {
    address: door.address,
    stop: async () => {
      door.close();
      await server.stop();
    },
  };
}
