import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { formatAddress, type ListenAddress, type Logger } from "../base/mod.ts";
import { isOwnMachine } from "../replication/mod.ts";
import type { Connection, Connections } from "./connections.ts";
import { HttpServer, type HttpServerOptions } from "./http_server.ts";
import { type Listener, listenerOf } from "./listen.ts";
import { ListenError, openPortListener } from "./listener.ts";
import { type ClientCa, type HelloPeek, openTlsListener } from "./tls_listener.ts";
import type { TlsSource } from "./tls_files.ts";

/** ALPN name of HTTP/2, which gRPC uses (RFC 9113 §3.2). */
const HTTP2 = "h2";

/** Options of {@linkcode listenGrpc}. */
export interface GrpcListenOptions {
  tls: TlsSource;
  /** Authorities of client certificates. Boats without one may connect: the refused call gives the better error. */
  clientCa: ClientCa;
  /** Serves HTTP/2 on a connection: `ReplicationServer.accept`. It must end them before this listener is stopped. */
  accept: (socket: Duplex, connection: Connection) => void;
  connections: Connections;
  log: Logger;
}

/** Options of {@linkcode listenSingle}. */
export interface SingleListenOptions extends GrpcListenOptions, HttpServerOptions {
  helloPeek?: HelloPeek | undefined;
}

/**
 * Listens for gRPC over TLS.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function listenGrpc(
  address: ListenAddress,
  { accept, ...options }: GrpcListenOptions,
): Promise<Listener> {
  const dispatch = (socket: TLSSocket, connection: Connection) => {
    if (socket.alpnProtocol === HTTP2) accept(socket, connection);
    else socket.destroy();
  };
  const port = await openTlsListener(address, { ...options, protocols: [HTTP2], accept: dispatch });
  return listenerOf(port, { end: port.end });
}

/**
 * Listens for gRPC and HTTPS on one port, chosen by ALPN: a client that offers HTTP/1.1 or nothing gets HTTPS, even if it
 * also offers HTTP/2 as browsers do; a client that offers only HTTP/2 gets gRPC.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function listenSingle(
  address: ListenAddress,
  { accept, ...options }: SingleListenOptions,
): Promise<Listener> {
  const server = new HttpServer(options);
  const dispatch = (socket: TLSSocket, connection: Connection) =>
    socket.alpnProtocol === HTTP2 ? accept(socket, connection) : server.accept(socket, connection);
  // The order matters: browsers offer both and must get HTTPS.
  const port = await openTlsListener(address, { ...options, protocols: ["http/1.1", HTTP2], accept: dispatch });
  return listenerOf(port, { server, end: port.end });
}

/**
 * Listens for unencrypted gRPC on a loopback address.
 *
 * @throws {ListenError} the address is not a loopback address, or the port is in use or not permitted
 */
export async function listenGrpcInsecure(
  address: ListenAddress,
  { accept, connections, log }: Pick<GrpcListenOptions, "accept" | "connections" | "log">,
): Promise<Listener> {
  if (!isOwnMachine(address.hostname)) {
    const reason = "without TLS only local addresses are allowed: use 127.0.0.1, ::1 or localhost";
    throw new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
  }
  const open = new Set<Duplex>();
  const track = (socket: Duplex, connection: Connection) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    accept(socket, connection);
  };
  const port = await openPortListener(address, { connections, log, accept: track });
  return listenerOf(port, { end: () => open.forEach((socket) => socket.destroy()) });
}
