import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { formatAddress, type ListenAddress, type Logger } from "../base/mod.ts";
import { isOwnMachine } from "../replication/mod.ts";
import type { Connection, Connections } from "./connections.ts";
import { HttpServer, type HttpServerOptions } from "./http_server.ts";
import type { Listener } from "./listen.ts";
import { openPortListener } from "./listener.ts";
import { ListenError } from "./error.ts";
import { type ClientCa, type HelloPeek, openTlsListener } from "./tls_listener.ts";
import type { TlsSource } from "./tls_pair.ts";

/** Name of HTTP/2 over TLS, on which gRPC travels (RFC 9113 §3.2). */
const HTTP2 = "h2";

/** What a port for gRPC is made of. */
export interface GrpcListenOptions {
  tls: TlsSource;
  /** Boats are asked for certificates of these. They are let in without: a call says better why it is refused. */
  clientCa: ClientCa;
  /** Serves HTTP/2 on a connection: `ReplicationServer.accept`. It ends them before this listener is stopped. */
  accept: (socket: Duplex, connection: Connection) => void;
  connections: Connections;
  log: Logger;
}

/** What a port for gRPC and HTTPS is made of. */
export interface SingleListenOptions extends GrpcListenOptions, HttpServerOptions {
  helloPeek?: HelloPeek | undefined;
}

/**
 * Listens for gRPC over TLS.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function listenGrpc(
  address: ListenAddress,
  { accept, ...options }: GrpcListenOptions,
): Promise<Listener> {
  const take = (socket: TLSSocket, connection: Connection) => {
    if (socket.alpnProtocol === HTTP2) accept(socket, connection);
    else socket.destroy();
  };
  const front = await openTlsListener(address, { ...options, protocols: [HTTP2], accept: take });
  return {
    address: front.address,
    stop: async () => {
      front.close();
      front.end();
      await Promise.resolve();
    },
  };
}

/**
 * Listens for gRPC and HTTPS on one port. What a client offers decides: HTTP/1.1, or nothing, is HTTPS, also when HTTP/2
 * is offered beside it as browsers do; a client that offers HTTP/2 alone is taken for a boat, and gets gRPC's answers.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function listenSingle(
  address: ListenAddress,
  { accept, ...options }: SingleListenOptions,
): Promise<Listener> {
  const server = new HttpServer(options);
  const take = (socket: TLSSocket, connection: Connection) =>
    socket.alpnProtocol === HTTP2 ? accept(socket, connection) : server.accept(socket, connection);
  // In this order: a browser that offers both is not to land on gRPC.
  const front = await openTlsListener(address, { ...options, protocols: ["http/1.1", HTTP2], accept: take });
  return {
    address: front.address,
    stop: async () => {
      front.close();
      await server.stop();
      front.end();
    },
  };
}

/**
 * Listens for gRPC that is not encrypted, on an address that only this machine can reach.
 *
 * @throws {ListenError} others could reach the address, or the port is taken or may not be used
 */
export async function listenGrpcInsecure(
  address: ListenAddress,
  { accept, connections, log }: Pick<GrpcListenOptions, "accept" | "connections" | "log">,
): Promise<Listener> {
  if (!isOwnMachine(address.hostname)) {
    const reason = "without TLS only this machine may call: use 127.0.0.1, ::1 or localhost";
    throw new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
  }
  const open = new Set<Duplex>();
  const take = (socket: Duplex, connection: Connection) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    accept(socket, connection);
  };
  const door = await openPortListener(address, { connections, log, take });
  return {
    address: door.address,
    stop: async () => {
      door.close();
      for (const socket of open) socket.destroy();
      await Promise.resolve();
    },
  };
}
