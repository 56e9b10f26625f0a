import { createServer } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { formatAddress, type ListenAddress, type Logger, type StallDetector } from "../base/mod.ts";
import { isOwnMachine } from "../replication/mod.ts";
import type { GreetingLimits } from "./greetings.ts";
import { type Handler, type Listener, ListenError, listenError } from "./listen.ts";
import { bind, type ClientCa, type HelloPeek, openFront } from "./listen_front.ts";
import { openInside } from "./listen_inside.ts";
import type { TlsSource } from "./tls_pair.ts";

/** Name of HTTP/2 over TLS, on which gRPC travels (RFC 9113 §3.2). */
const HTTP2 = "h2";

/** What a port for gRPC is made of. */
export interface GrpcListenOptions {
  tls: TlsSource;
  /** Boats are asked for certificates of these. They are let in without: a call says better why it is refused. */
  clientCa: ClientCa;
  /** Serves HTTP/2 on a connection: `ReplicationServer.accept`. It ends them before this listener is stopped. */
  accept: (socket: Duplex) => void;
  log: Logger;
  limits?: Partial<GreetingLimits>;
}

/** What a port for gRPC and HTTPS is made of. */
export interface SingleListenOptions extends GrpcListenOptions {
  handler: Handler;
  stall: StallDetector;
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
  const take = (socket: TLSSocket) => {
    if (socket.alpnProtocol === HTTP2) accept(socket);
    else socket.destroy();
  };
  const front = await openFront(address, { ...options, protocols: [HTTP2], accept: take });
  return {
    address: front.address,
    stop: async () => {
      front.close();
      await front.end();
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
  { accept, handler, stall, ...options }: SingleListenOptions,
): Promise<Listener> {
  const inside = openInside({ handler, stall });
  const take = (socket: TLSSocket) => socket.alpnProtocol === HTTP2 ? accept(socket) : inside.accept(socket);
  try {
    // In this order: a browser that offers both is not to land on gRPC.
    const front = await openFront(address, { ...options, protocols: ["http/1.1", HTTP2], accept: take });
    return {
      address: front.address,
      stop: async () => {
        front.close();
        await inside.stop();
        await front.end();
      },
    };
  } catch (error) {
    await inside.stop();
    throw error;
  }
}

/**
 * Listens for gRPC that is not encrypted, on an address that only this machine can reach.
 *
 * @throws {ListenError} others could reach the address, or the port is taken or may not be used
 */
export async function listenGrpcInsecure(
  address: ListenAddress,
  { accept, log }: Pick<GrpcListenOptions, "accept" | "log">,
): Promise<Listener> {
  if (!isOwnMachine(address.hostname)) {
    const reason = "without TLS only this machine may call: use 127.0.0.1, ::1 or localhost";
    throw new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
  }
  const open = new Set<Duplex>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => open.delete(socket));
    accept(socket);
  });
  const port = await bind(server, address).catch((error: unknown) => {
    throw listenError(address, error);
  });
  server.on("error", (error: Error) => log.error("connection not taken", { error: error.message }));
  return {
    address: { ...address, port },
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
