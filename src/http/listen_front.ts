import { Buffer } from "node:buffer";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { ALL_ADDRESSES, type ListenAddress, type Logger } from "../base/mod.ts";
import type { ClientAuthorities } from "../cloud/mod.ts";
import { type ClientHello, MAX_HELLO_BYTES, readClientHello } from "./client_hello.ts";
import { DEFAULT_GREETING_LIMITS, type GreetingLimits, Greetings } from "./greetings.ts";
import { listenError } from "./listen.ts";
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
export interface FrontOptions {
  tls: TlsSource;
  log: Logger;
  /** Protocols that are spoken, the favourite first. */
  protocols: readonly string[];
  /** Takes a connection over TLS, which says which of the protocols it is; none, where the client offers none. */
  accept: (socket: TLSSocket) => void;
  /** Clients are asked for certificates of these; whether one may come in without is up to `accept`. */
  clientCa?: ClientCa | undefined;
  helloPeek?: HelloPeek | undefined;
  limits?: Partial<GreetingLimits> | undefined;
}

/** A port on which TLS is spoken. */
export interface Front {
  /** Where it really listens. */
  readonly address: ListenAddress;
  /** Takes no more connections, and closes those that are not encrypted yet. */
  close: () => void;
  /** Closes all that are left. Resolves when they are gone. */
  end: () => Promise<void>;
}

/** Fatal alert `internal_error` (RFC 8446 §6): what a client gets to see while there is no certificate. */
const NO_CERTIFICATE = Uint8Array.of(21, 3, 3, 0, 2, 2, 80);

/**
 * Opens a port for TLS 1.2 and 1.3. What is replaced counts for new connections and leaves the others alone.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function openFront(address: ListenAddress, options: FrontOptions): Promise<Front> {
  const { tls, clientCa, log } = options;
  const greetings = new Greetings({ ...DEFAULT_GREETING_LIMITS, ...options.limits });
  const open = new Set<TLSSocket>();
  const server = createTlsServer({
    ...contextOf(options),
    ALPNProtocols: [...options.protocols],
    requestCert: clientCa !== undefined,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
  }, (socket) => {
    greetings.end(socket);
    open.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => open.delete(socket));
    options.accept(socket);
  });
  server.on("tlsClientError", (error: Error, socket: TLSSocket) => {
    log.debug("TLS handshake failed", { error: error.message });
    socket.destroy();
  });
  const door = createServer((socket: Socket) => {
    greetings.begin(socket);
    socket.on("error", () => socket.destroy());
    receive(socket, { ...options, secure: () => server.emit("connection", socket) });
  });
  const port = await bind(door, address).catch((error: unknown) => {
    throw listenError(address, error);
  });
  door.on("error", (error: Error) => log.error("connection not taken", { error: error.message }));
  // A context that cannot be used throws nothing and fails in every handshake: both sources check what they hand over.
  const renew = () => server.setSecureContext(contextOf(options));
  const leave = [tls.follow(renew), clientCa?.follow(renew)];
  const closed = Promise.withResolvers<void>();
  const close = () => {
    for (const each of leave.splice(0)) each?.();
    door.close(() => closed.resolve());
    greetings.stop();
  };
  return {
    address: { ...address, port },
    close,
    end: async () => {
      for (const socket of open) socket.destroy();
      await closed.promise;
    },
  };
}

/** Hands a new connection to TLS, or to who looks at hellos. */
function receive(
  socket: Socket,
  { tls, helloPeek, secure }: Pick<FrontOptions, "tls" | "helloPeek"> & { secure: () => void },
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

function contextOf({ tls: { pair }, clientCa }: Pick<FrontOptions, "tls" | "clientCa">) {
  return { ...pair && { cert: pair.cert, key: pair.key }, ...clientCa && { ca: clientCa.pem } };
}

/** Both families; IPv4 alone where the machine has no IPv6. Gives the port. */
export async function bind(server: Server, { hostname, port }: ListenAddress): Promise<number> {
  const listenOn = (host: string) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        resolve();
      });
    });
  try {
    await listenOn(hostname);
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (hostname !== ALL_ADDRESSES || isTaken) throw error;
    await listenOn("0.0.0.0");
  }
  const bound = server.address();
  return typeof bound === "object" && bound ? bound.port : port;
}
