import { formatAddress, type ListenAddress } from "../../base/mod.ts";
import type { Link, OpenLink } from "./link.ts";

/** Bytes read at once: some 350 lines, a millisecond of processing. */
const READ_BYTES = 16 * 1024;
/** Longest wait for a connection; a reachable gateway answers within milliseconds. */
export const CONNECT_TIMEOUT_MS = 5000;

/** Connects to a gateway over TCP. */
export function tcpLink(address: ListenAddress): OpenLink {
  return async (signal) => {
    const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    try {
      return new TcpLink(await Deno.connect({ ...address, signal: AbortSignal.any([signal, timeout]) }));
    } catch (error) {
      if (!timeout.aborted) throw error;
      throw new Error(`${formatAddress(address)} does not answer within ${CONNECT_TIMEOUT_MS / 1000} s`);
    }
  };
}

class TcpLink implements Link {
  readonly isDatagram = false;
  readonly dropped = 0;
  readonly #connection: Deno.TcpConn;
  readonly #buffer = new Uint8Array(READ_BYTES);
  #isClosed = false;

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
    connection.setNoDelay(true);
  }

  async read(): Promise<Uint8Array | undefined> {
    try {
      const count = await this.#connection.read(this.#buffer);
      return count === null ? undefined : this.#buffer.subarray(0, count);
    } catch (error) {
      if (this.#isClosed) return undefined;
      throw error;
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }
}
