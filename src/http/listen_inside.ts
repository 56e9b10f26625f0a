import { connect, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ListenAddress, StallDetector } from "../base/mod.ts";
import { peerOf } from "./greetings.ts";
import { type Handler, listen, remoteOf } from "./listen.ts";

/** Where the server behind listens. */
const INSIDE = "127.0.0.1";

/** A server for HTTP behind connections that others have taken. */
export interface InsideServer {
  /** Serves HTTP/1.1 on a connection. */
  accept: (socket: TLSSocket) => void;
  /** Lets the replies under way end, for a short while, and closes all connections. */
  stop: () => Promise<void>;
}

/**
 * Starts a server that listens on this machine alone, for what comes through TLS in front of it: `Deno.serve` cannot
 * change its certificate, and one that is shut down for another ends its WebSockets.
 */
export function openInside({ handler, stall }: { handler: Handler; stall: StallDetector }): InsideServer {
  const clients = new Map<number, ListenAddress>();
  const inside = listen({ hostname: INSIDE, port: 0 }, {
    stall,
    handler: async (request, { hostname, port }) => {
      const from = hostname === INSIDE ? clients.get(port) : undefined;
      // Only what came through TLS is answered.
      return from ? await handler(request, from) : new Response(null, { status: 403 });
    },
  });
  const { port } = inside.address;
  return { accept: (socket) => join(socket, { port, clients }), stop: inside.stop };
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
