import type { ListenAddress } from "../base/mod.ts";
import { HttpServer } from "./http_server.ts";
import type { Listener, ListenOptions } from "./listen.ts";
import { openTlsListener } from "./tls_listener.ts";
import type { TlsSource } from "./tls_pair.ts";

/** Options of {@linkcode listenTls}. */
export interface TlsListenOptions extends ListenOptions {
  tls: TlsSource;
}

/**
 * Listens for HTTPS. A replaced certificate applies to new connections; open streams continue.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function listenTls(address: ListenAddress, options: TlsListenOptions): Promise<Listener> {
  const server = new HttpServer(options);
  const listener = await openTlsListener(address, {
    ...options,
    protocols: ["http/1.1"],
    accept: server.accept.bind(server),
  });
  return {
    address: listener.address,
    stop: async () => {
      listener.close();
      await server.stop();
      listener.end();
    },
  };
}
