import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { formatAddress, type ListenAddress, type Logger } from "../base/mod.ts";
import type { ClientAuthorities } from "../pki/mod.ts";
import { type ClientHello, MAX_HELLO_BYTES, readClientHello } from "./client_hello.ts";
import type { Connection, Connections } from "./connections.ts";
import { peerOf } from "./http_server.ts";
import { openPortListener } from "./listener.ts";
import type { TlsSource } from "./tls_pair.ts";

/** Somebody who takes certain connections before TLS has them. */
export interface HelloPeek {
  /** Whether it waits for one now. Hellos are read only then. */
  readonly isWaiting: boolean;
  /** Takes the connection, from its first byte on, or says no. */
  take(hello: ClientHello, socket: Socket): boolean;
}

/** Authorities of clients, as far as a listener needs them. */
export type ClientCa = Pick<ClientAuthorities, "pem" | "follow">;

/** What connections over TLS are taken with. */
export interface TlsListenerOptions {
  tls: TlsSource;
  log: Logger;
  /** Protocols that are spoken, the favourite first. */
  protocols: readonly string[];
  /** Takes a connection over TLS, which says which of the protocols it is; none, where the client offers none. */
  accept: (socket: TLSSocket, connection: Connection) => void;
  connections: Connections;
  /** Clients are asked for certificates of these; whether one may come in without is up to `accept`. */
  clientCa?: ClientCa | undefined;
  helloPeek?: HelloPeek | undefined;
}

/** A port on which TLS is spoken. */
export interface TlsListener {
  /** Where it really listens. */
  readonly address: ListenAddress;
  /** Takes no more connections, and closes those that are not encrypted yet. */
  close: () => void;
  /** Closes all that are left. */
  end: () => void;
}

/** Fatal alert `internal_error` (RFC 8446 §6): what a client gets to see while there is no certificate. */
const NO_CERTIFICATE = Uint8Array.of(21, 3, 3, 0, 2, 2, 80);

/**
 * Opens a port for TLS 1.2 and 1.3. What is replaced counts for new connections and leaves the others alone.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function openTlsListener(address: ListenAddress, options: TlsListenerOptions): Promise<TlsListener> {
  const { tls, clientCa, connections, log } = options;
  // A connection and the one over TLS that comes of it are different objects, and have the other side in common.
  const handshakes = new Map<string, Handshake>();
  const open = new Set<TLSSocket>();
  const server = createTlsServer({
    ...contextOf(options),
    ALPNProtocols: [...options.protocols],
    requestCert: clientCa !== undefined,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
  }, (socket) => {
    const handshake = handshakes.get(keyOf(socket));
    handshakes.delete(keyOf(socket));
    if (!handshake) return void socket.destroy();
    open.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => open.delete(socket));
    options.accept(socket, handshake.connection);
  });
  server.on("tlsClientError", (error: Error, socket: TLSSocket) => {
    log.debug("TLS handshake failed", { error: error.message });
    socket.destroy();
  });
  const take = (socket: Socket, connection: Connection) => {
    const key = keyOf(socket);
    handshakes.set(key, { socket, connection });
    socket.once("close", () => {
      if (handshakes.get(key)?.socket === socket) handshakes.delete(key);
    });
    receive(socket, { ...options, secure: () => server.emit("connection", socket) });
  };
  const door = await openPortListener(address, { connections, log, take });
  // A context that cannot be used throws nothing and fails in every handshake: both sources check what they hand over.
  const renew = () => server.setSecureContext(contextOf(options));
  const leave = [tls.follow(renew), clientCa?.follow(renew)];
  const close = () => {
    for (const each of leave.splice(0)) each?.();
    door.close();
    for (const { socket } of handshakes.values()) socket.destroy();
  };
  const end = () => {
    for (const socket of open) socket.destroy();
  };
  return { address: door.address, close, end };
}

interface Handshake {
  socket: Socket;
  connection: Connection;
}

function keyOf(socket: Socket): string {
  return formatAddress(peerOf(socket));
}

/** Hands a new connection to TLS, or to who looks at hellos. */
function receive(
  socket: Socket,
  { tls, helloPeek, secure }: Pick<TlsListenerOptions, "tls" | "helloPeek"> & { secure: () => void },
): void {
  const go = () => tls.pair ? secure() : socket.end(NO_CERTIFICATE);
  if (!helloPeek?.isWaiting) return void go();
  let seen = Buffer.alloc(0);
  const look = (bytes: Buffer) => {
    seen = Buffer.concat([seen, bytes]);
    const reading = readClientHello(seen);
    if (reading.kind === "partial" && seen.length <= MAX_HELLO_BYTES) return;
    socket.off("data", look).pause();
    socket.unshift(seen);
    if (reading.kind !== "hello" || !helloPeek.take(reading.hello, socket)) go();
  };
  socket.on("data", look);
}

function contextOf({ tls: { pair }, clientCa }: Pick<TlsListenerOptions, "tls" | "clientCa">) {
  return { ...pair && { cert: pair.cert, key: pair.key }, ...clientCa && { ca: clientCa.pem } };
}
