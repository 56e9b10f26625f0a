import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** A connection over TLS, as one that is not. */
export interface Loopback {
  /** What TLS has decrypted, and what it is to encrypt. */
  readonly inner: Socket;
  /** Closes it, and the connection over TLS. */
  close: () => void;
  /** Closes it, and leaves the connection over TLS as it was. */
  detach: () => void;
}

/** Where the connection within the machine is made. */
const INSIDE = "127.0.0.1";

/**
 * Joins a connection over TLS with one within this machine: the runtime upgrades nothing else to a WebSocket.
 *
 * @param head bytes that came before
 */
export async function openLoopback(outer: TLSSocket, head: Uint8Array): Promise<Loopback> {
  const server = createServer();
  try {
    server.listen(0, INSIDE);
    await once(server, "listening");
    const bound = server.address();
    if (typeof bound !== "object" || bound === null) throw new Error("no port within this machine");
    const accepted = once(server, "connection");
    const near = connect({ host: INSIDE, port: bound.port, noDelay: true });
    await once(near, "connect");
    const [inner]: Socket[] = await accepted;
    // Somebody else on this machine may have been quicker.
    if (!inner || inner.remotePort !== near.localPort) {
      throw new Error("the connection within this machine is not ours");
    }
    inner.on("error", () => inner.destroy());
    near.write(head);
    outer.pipe(near).pipe(outer);
    const close = () => {
      outer.destroy();
      near.destroy();
      inner.destroy();
    };
    for (const socket of [outer, near]) socket.on("error", close).on("close", close);
    const detach = () => {
      outer.unpipe(near).off("close", close);
      near.unpipe(outer).off("close", close).destroy();
      inner.destroy();
    };
    return { inner, close, detach };
  } finally {
    server.close();
  }
}
