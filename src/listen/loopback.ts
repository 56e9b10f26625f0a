import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** A connection over TLS, as one that is not. */
export interface Loopback {
  /** What TLS has decrypted, and what it is to encrypt. */
  readonly inner: Socket;
  /** Closes it, and the connection over TLS. */
  close: () => void;
  /** Closes the loopback and leaves the TLS connection open. */
  detach: () => void;
}

const LOOPBACK = "127.0.0.1";

/**
 * Pipes a TLS connection through a plain loopback connection, because the runtime cannot upgrade a TLS socket to a
 * WebSocket.
 *
 * @param head bytes already received
 */
export async function openLoopback(outer: TLSSocket, head: Uint8Array): Promise<Loopback> {
  const server = createServer();
  try {
    server.listen(0, LOOPBACK);
    await once(server, "listening");
    const bound = server.address();
    if (typeof bound !== "object" || bound === null) throw new Error("the loopback listener has no port");
    const accepted = once(server, "connection");
    const near = connect({ host: LOOPBACK, port: bound.port, noDelay: true });
    await once(near, "connect");
    const [inner]: Socket[] = await accepted;
    // Another local process may have connected first.
    if (!inner || inner.remotePort !== near.localPort) {
      throw new Error("another process connected to the loopback listener");
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
