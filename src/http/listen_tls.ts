import { connect, type Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { ALL_ADDRESSES, formatAddress, type ListenAddress, type Logger, type StallDetector } from "../base/mod.ts";
import { type Handler, listen, type Listener, listenError, remoteOf } from "./listen.ts";
import type { TlsFiles } from "./tls_files.ts";

/** A client that says nothing is not waited for longer before its connection is encrypted. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Where the server behind listens. */
const INSIDE = "127.0.0.1";

/** What a server over TLS is made of. */
export interface TlsListenOptions {
  handler: Handler;
  stall: StallDetector;
  log: Logger;
  tls: TlsFiles;
}

/**
 * Listens for HTTPS. A certificate that is replaced counts for new connections, and no stream is cut for it. For that,
 * TLS ends in front of a server of our own that listens on this machine alone: `Deno.serve` cannot change its certificate,
 * and one that is shut down for another ends its WebSockets.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function listenTls(
  address: ListenAddress,
  { handler, stall, log, tls }: TlsListenOptions,
): Promise<Listener> {
  const clients = new Map<number, ListenAddress>();
  const inside = listen({ hostname: INSIDE, port: 0 }, {
    stall,
    handler: async (request, { hostname, port }) => {
      const from = hostname === INSIDE ? clients.get(port) : undefined;
      // Only what came through TLS is answered.
      return from ? await handler(request, from) : new Response(null, { status: 403 });
    },
  });
  /** Connections that are not encrypted yet. */
  const greeting = new Map<string, Socket>();
  const server = createServer(
    { ...tls.pair, ALPNProtocols: ["http/1.1"], handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
    (socket) => {
      greeting.delete(formatAddress(peerOf(socket)));
      join(socket, { port: inside.address.port, clients });
    },
  );
  server.on("tlsClientError", (error: Error, socket: TLSSocket) => {
    log.debug("TLS handshake failed", { error: error.message });
    socket.destroy();
  });
  server.on("connection", (socket: Socket) => {
    const key = formatAddress(peerOf(socket));
    greeting.set(key, socket);
    socket.once("close", () => greeting.delete(key));
  });
  try {
    const port = await open(server, address);
    server.on("error", (error: Error) => log.error("connection not taken", { error: error.message }));
    tls.follow(({ cert, key }) => server.setSecureContext({ cert, key }));
    return {
      address: { ...address, port },
      stop: async () => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        // Nothing of theirs is under way, and who says nothing would hold up the stop.
        for (const socket of greeting.values()) socket.destroy();
        await inside.stop();
        await closed;
      },
    };
  } catch (error) {
    await inside.stop();
    throw listenError(address, error);
  }
}

/** Joins a client's connection with one to the server inside; they end together. */
function join(outer: TLSSocket, { port, clients }: { port: number; clients: Map<number, ListenAddress> }): void {
  const from = remoteOf(peerOf(outer));
  let key: number | undefined;
  const inner: Socket = connect({ host: INSIDE, port, noDelay: true }, () => {
    key = inner.localPort;
    if (key !== undefined) clients.set(key, from);
    outer.pipe(inner).pipe(outer);
  });
  outer.setNoDelay(true);
  const end = () => {
    if (key !== undefined) clients.delete(key);
    key = undefined;
    outer.destroy();
    inner.destroy();
  };
  for (const socket of [outer, inner]) socket.on("error", end).on("close", end);
}

function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): ListenAddress {
  return { hostname: remoteAddress, port: remotePort };
}

/** Both families; IPv4 alone where the machine has no IPv6. Gives the port. */
async function open(server: Server, { hostname, port }: ListenAddress): Promise<number> {
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
