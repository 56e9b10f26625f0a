import type { ListenAddress } from "../base/mod.ts";
import { HttpServer } from "./http_server.ts";
import type { Listener, ListenOptions } from "./listen.ts";
import { openTlsListener } from "./tls_listener.ts";
import type { TlsSource } from "./tls_pair.ts";

/** What a server over TLS is made of. */
export interface TlsListenOptions extends ListenOptions {
  tls: TlsSource;
}

/**
 * Listens for HTTPS. A certificate that is replaced counts for new connections, and no stream is cut for it.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function listenTls(address: ListenAddress, options: TlsListenOptions): Promise<Listener> {
  const server = new HttpServer(options);
  const front = await openTlsListener(address, {
    ...options,
    protocols: ["http/1.1"],
    accept: server.accept.bind(server),
  });
  return {
    address: front.address,
    stop: async () => {
      front.close();
      await server.stop();
      front.end();
    },
  };
}
