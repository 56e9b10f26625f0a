import { createSocket, type Socket } from "node:dgram";
import { EventEmitter } from "node:events";
import type { AddressInfo } from "node:net";
import type { Bonjour } from "bonjour-service";
import { importLate } from "../../base/mod.ts";

type BonjourPackage = typeof import("./bonjour_package.ts");

/** Service type of boat servers, `_vbg._tcp` in `local.`. */
export const BOAT_SERVICE = "vbg";
/** Service type that clients of lplex search for: `_lplex._tcp`. */
export const PEER_SERVICE = "lplex";
/** Port of multicast DNS (RFC 6762, section 3). */
export const MDNS_PORT = 5353;

/** Port and interface of multicast DNS. */
export interface MulticastOptions {
  /** UDP port, default {@linkcode MDNS_PORT}. */
  port?: number;
  /** IPv4 address of the one interface to use, default all. */
  interface?: string;
}

/** An open multicast socket and the library that uses it. */
export interface Multicast extends AsyncDisposable {
  readonly bonjour: Bonjour;
  /** Closes the socket without goodbye records. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a socket for multicast DNS, shared with other responders on the machine.
 *
 * @param options.onError called with later errors of the socket
 * @throws {Error} the port cannot be shared, or the permission is missing
 */
export async function openMulticast(
  { port = MDNS_PORT, interface: address, onError }: MulticastOptions & { onError: (error: unknown) => void },
): Promise<Multicast> {
  const { Bonjour } = await importLate<BonjourPackage>(new URL("./bonjour_package.ts", import.meta.url));
  const socket = await bind(port);
  const guarded = new GuardedSocket(socket, onError);
  const options = { socket: guarded, bind: false, port, ...(address !== undefined && { interface: address }) };
  const bonjour = new Bonjour(options, onError);
  guarded.emit("listening");
  let closed: Promise<void> | undefined;
  return {
    bonjour,
    [Symbol.asyncDispose]: () => closed ??= new Promise((resolve) => bonjour.destroy(() => resolve())),
  };
}

async function bind(port: number): Promise<Socket> {
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("error", reject);
  socket.bind({ port, address: "0.0.0.0" }, resolve);
  await promise;
  socket.off("error", reject);
  return socket;
}

/**
 * Socket passed to the library. The library would throw errors of a real socket, and errors of malformed packets, where
 * they cannot be caught.
 */
class GuardedSocket extends EventEmitter {
  readonly #socket: Socket;
  readonly #onError: (error: unknown) => void;

  constructor(socket: Socket, onError: (error: unknown) => void) {
    super();
    this.#socket = socket;
    this.#onError = onError;
    socket.on("error", onError);
    socket.on("message", (bytes, from) => {
      try {
        this.emit("message", bytes, from);
      } catch {
        // A malformed packet of another sender is not an error of the network.
      }
    });
  }

  send(
    message: Uint8Array,
    ...[offset, length, port, address, done]: [number, number, number, string, (error: Error | null) => void]
  ): void {
    this.#socket.send(message, offset, length, port, address, (error) => {
      if (error) this.#onError(error);
      done(error);
    });
  }

  address(): AddressInfo {
    return this.#socket.address();
  }

  addMembership(group: string, address: string): void {
    this.#socket.addMembership(group, address);
  }

  dropMembership(group: string, address: string): void {
    this.#socket.dropMembership(group, address);
  }

  setMulticastInterface(address: string): void {
    this.#socket.setMulticastInterface(address);
  }

  setMulticastTTL(hops: number): void {
    this.#socket.setMulticastTTL(hops);
  }

  setMulticastLoopback(isOn: boolean): void {
    this.#socket.setMulticastLoopback(isOn);
  }

  close(done: () => void): void {
    this.#socket.close(done);
  }
}
