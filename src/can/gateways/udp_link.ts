import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import type { Link, OpenLink } from "./link.ts";

/** Most datagrams that wait to be read: a second of a full bus with one frame each. */
export const MAX_WAITING = 2048;

/** Addresses of a UDP link. */
export interface UdpAddress {
  /** The peer; undefined: receives from all, sends to the latest sender. */
  hostname: string | undefined;
  /** Port of the gateway. */
  port: number;
  /** Local port. */
  listenPort: number;
}

/** Opens a link to a gateway that sends datagrams. */
export function udpLink({ hostname, port, listenPort }: UdpAddress): OpenLink {
  return async () => {
    const address = hostname === undefined ? undefined : await lookup(hostname);
    const socket = createSocket(address?.family === 6 ? "udp6" : "udp4");
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.bind(listenPort, () => {
        socket.off("error", reject);
        resolve();
      });
    });
    return new UdpLink(socket, address && { address: address.address, port });
  };
}

class UdpLink implements Link {
  readonly isDatagram = true;
  dropped = 0;
  readonly #socket: Socket;
  readonly #only: string | undefined;
  readonly #waiting: Uint8Array[] = [];
  #partner: { address: string; port: number } | undefined;
  #wake: (() => void) | undefined;
  #end: { error?: Error } | undefined;
  /** Rejects pending sends: closing the socket does not settle them. */
  readonly #sending = new Set<(error: Error) => void>();

  constructor(socket: Socket, partner: { address: string; port: number } | undefined) {
    this.#socket = socket;
    this.#partner = partner;
    this.#only = partner?.address;
    socket.on("message", (bytes: Uint8Array, from: RemoteInfo) => this.#take(bytes, from));
    socket.on("error", (error: Error) => this.#finish({ error }));
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = this.#waiting.shift();
      if (piece) return piece;
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return undefined;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  write(bytes: Uint8Array): Promise<void> {
    const partner = this.#partner;
    if (!partner) return Promise.reject(new Error("no datagram has been received yet, so the destination is unknown"));
    if (this.#end) return Promise.reject(new Error("it is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#sending.add(reject);
    this.#socket.send(bytes, partner.port, partner.address, (error) => {
      this.#sending.delete(reject);
      if (error) reject(error);
      else resolve();
    });
    return promise;
  }

  close(): void {
    if (this.#end) return;
    this.#finish({});
  }

  #take(bytes: Uint8Array, { address, port }: RemoteInfo): void {
    if (this.#only === undefined) this.#partner = { address, port };
    else if (address !== this.#only) return;
    if (this.#waiting.length >= MAX_WAITING) this.dropped++;
    else this.#waiting.push(bytes);
    this.#wake?.();
  }

  #finish(end: { error?: Error }): void {
    if (this.#end) return;
    this.#end = end;
    this.#waiting.length = 0;
    this.#socket.close();
    for (const reject of this.#sending) reject(new Error("it is closed"));
    this.#wake?.();
  }
}
