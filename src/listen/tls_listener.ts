import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { ListenAddress, Logger } from "../base/mod.ts";
import type { ClientAuthorities } from "../pki/mod.ts";
import { type ClientHello, MAX_HELLO_BYTES, readClientHello } from "./client_hello.ts";
import type { Connection, Connections } from "./connections.ts";
import { openPortListener } from "./listener.ts";
import type { TlsSource } from "./tls_files.ts";

/** Takes over certain connections before TLS, by their ClientHello. */
export interface HelloPeek {
  /** True while it expects a connection. Hellos are parsed only then. */
  readonly isWaiting: boolean;
  /** Takes over the connection from its first byte on; false: not its connection. */
  take(hello: ClientHello, socket: Socket): boolean;
}

/** The part of the client authorities that a listener needs. */
export type ClientCa = Pick<ClientAuthorities, "pem" | "follow">;

/** Options of {@linkcode openTlsListener}. */
export interface TlsListenerOptions {
  tls: TlsSource;
  log: Logger;
  /** Supported ALPN protocols in order of preference. */
  protocols: readonly string[];
  /** Serves a TLS connection; `alpnProtocol` is false if the client offers none. */
  accept: (socket: TLSSocket, connection: Connection) => void;
  connections: Connections;
  /** Authorities of the requested client certificates; `accept` decides about clients without one. */
  clientCa?: ClientCa | undefined;
  helloPeek?: HelloPeek | undefined;
}

/** An open TLS port. */
export interface TlsListener {
  /** Bound address. */
  readonly address: ListenAddress;
  /** Stops accepting and closes connections in TLS handshake. */
  close: () => void;
  /** Closes all remaining connections. */
  end: () => void;
}

/** Fatal alert `internal_error` (RFC 8446 §6), sent to clients while there is no certificate. */
const NO_CERTIFICATE = Uint8Array.of(21, 3, 3, 0, 2, 2, 80);

/**
 * Opens a port for TLS 1.2 and 1.3. Replaced certificates and authorities apply to new connections only.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function openTlsListener(address: ListenAddress, options: TlsListenerOptions): Promise<TlsListener> {
  const { tls, clientCa, connections, log } = options;
  // A TCP socket and its TLS socket are different objects; the addresses of both ends identify both.
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
  const accept = (socket: Socket, connection: Connection) => {
    const key = keyOf(socket);
    handshakes.set(key, { socket, connection });
    socket.once("close", () => {
      if (handshakes.get(key)?.socket === socket) handshakes.delete(key);
    });
    receive(socket, { ...options, secure: () => server.emit("connection", socket) });
  };
  const listener = await openPortListener(address, { connections, log, accept });
  // An unusable context does not throw here but fails every handshake: both sources check their certificates.
  const renew = () => server.setSecureContext(contextOf(options));
  const leave = [tls.follow(renew), clientCa?.follow(renew)];
  const close = () => {
    for (const each of leave.splice(0)) each?.();
    listener.close();
    for (const { socket } of handshakes.values()) socket.destroy();
  };
  const end = () => {
    for (const socket of open) socket.destroy();
  };
  return { address: listener.address, close, end };
}

interface Handshake {
  socket: Socket;
  connection: Connection;
}

function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(" ");
}

/** Hands a new connection to TLS or to the hello peek. */
function receive(
  socket: Socket,
  { tls, helloPeek, secure }: Pick<TlsListenerOptions, "tls" | "helloPeek"> & { secure: () => void },
): void {
  const go = () => tls.pair ? secure() : socket.end(NO_CERTIFICATE);
  if (!helloPeek?.isWaiting) return void go();
  let received = Buffer.alloc(0);
  const onData = (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    const reading = readClientHello(received);
    if (reading.kind === "partial" && received.length <= MAX_HELLO_BYTES) return;
    socket.off("data", onData).pause();
    socket.unshift(received);
    if (reading.kind !== "hello" || !helloPeek.take(reading.hello, socket)) go();
  };
  socket.on("data", onData).resume();
}

function contextOf({ tls: { pair }, clientCa }: Pick<TlsListenerOptions, "tls" | "clientCa">) {
  return { ...pair && { cert: pair.cert, key: pair.key }, ...clientCa && { ca: clientCa.pem } };
}
