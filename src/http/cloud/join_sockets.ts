import type { Socket } from "node:net";
import type { Upgrade } from "../streams/upgrades.ts";

/** Longest time in which a connection takes what is left for it after the other one has closed, milliseconds. */
const LINGER_MS = 10_000;

/** The connection of a WebSocket to another node. */
export interface NodeSocket {
  socket: Socket;
  /** Bytes received after the head of the answer. */
  head: Uint8Array;
  /** Aborted when the node is away. */
  away: AbortSignal | undefined;
}

/**
 * Joins a client's WebSocket with the one to another node. When one closes, the other gets what is left for it, such as the
 * close code, and closes, too. Both close when the node is away.
 */
export function joinSockets(client: Upgrade, { socket, head, away }: NodeSocket): void {
  const both = [socket, client.socket];
  const destroy = () => both.forEach((each) => each.destroy());
  let timer: ReturnType<typeof setTimeout> | undefined;
  const close = () => {
    timer ??= setTimeout(destroy, LINGER_MS);
    // What still comes is read: closed with unread bytes, a connection is reset and loses what is left for it.
    for (const each of both) each.unpipe().end().resume();
    if (!both.every(({ closed }) => closed)) return;
    clearTimeout(timer);
    away?.removeEventListener("abort", destroy);
    client.closed();
  };
  for (const each of both) each.on("error", () => each.destroy()).once("close", close);
  away?.addEventListener("abort", destroy, { once: true });
  client.socket.write(head);
  socket.write(client.head);
  client.socket.pipe(socket).pipe(client.socket);
  // It may have closed while the node has answered.
  if (client.socket.destroyed || away?.aborted) destroy();
  if (client.socket.closed) close();
}
