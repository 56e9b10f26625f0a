import type { TLSSocket } from "node:tls";
import type { ListenAddress } from "../base/mod.ts";
import { type PeerCertificate, PeerIdentities, type PeerIdentitiesOptions } from "../pki/mod.ts";
import type { Connection } from "./connections.ts";
import { HttpServer } from "./http_server.ts";
import { type Listener, listenerOf, type TlsListenOptions } from "./listen.ts";
import { RefusalLog } from "./refusal_log.ts";
import { type ClientCa, openTlsListener } from "./tls_listener.ts";

/** Options of {@linkcode listenNodes}. */
export interface NodeListenOptions extends TlsListenOptions, Pick<PeerIdentitiesOptions, "revoked" | "clock"> {
  /** Authorities of the nodes' certificates. */
  authorities: ClientCa & PeerIdentitiesOptions["authorities"];
}

/**
 * Listens for HTTPS of the other nodes of a cloud. A connection without the valid certificate of a node is closed before
 * it is served, and an open one when its certificate expires or is revoked, or its authority is removed. Nodes name the
 * clients of the requests that they forward, as trusted proxies do.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function listenNodes(
  address: ListenAddress,
  { authorities, revoked, clock, ...options }: NodeListenOptions,
): Promise<Listener> {
  const identities = new PeerIdentities({ kind: "node", authorities, revoked, clock });
  const server = new HttpServer(options);
  const refusals = new RefusalLog("node connection refused", options.log);
  const open = new Map<TLSSocket, { peer: PeerCertificate; connection: Connection }>();
  const refuse = (socket: TLSSocket, { connection, reason }: { connection: Connection; reason: string }) => {
    refusals.add({ address: connection.client.hostname, reason });
    socket.destroy();
  };
  const accept = (socket: TLSSocket, connection: Connection) => {
    const peer = socket.getPeerCertificate(true);
    const identity = identities.of(peer);
    if (!identity.ok) return refuse(socket, { connection, reason: identity.message });
    connection.trust();
    open.set(socket, { peer, connection });
    socket.once("close", () => open.delete(socket));
    server.accept(socket, connection);
  };
  const port = await openTlsListener(address, { ...options, clientCa: authorities, protocols: ["http/1.1"], accept });
  const unfollow = identities.follow(() => {
    for (const [socket, { peer, connection }] of open) {
      const identity = identities.of(peer);
      if (!identity.ok) refuse(socket, { connection, reason: identity.message });
    }
  });
  const end = () => {
    unfollow();
    port.end();
  };
  return listenerOf(port, { server, end });
}
