import type { Socket } from "node:net";
import { formatAddress, type ListenAddress } from "../base/mod.ts";

/** How long, and how many, connections may be not encrypted yet. */
export interface GreetingLimits {
  /** A client that says nothing is not waited for longer, milliseconds. */
  handshakeTimeoutMs: number;
  /** Connections at a time; the oldest goes for one more. */
  maxHandshakes: number;
}

/** What {@linkcode GreetingLimits} are without a setting. */
export const DEFAULT_GREETING_LIMITS: GreetingLimits = { handshakeTimeoutMs: 10_000, maxHandshakes: 1024 };

/** Connections that are not encrypted yet: whoever is slow, or many, cannot use up the machine. */
export class Greetings {
  readonly #limits: GreetingLimits;
  readonly #waiting = new Map<string, { socket: Socket; timer: ReturnType<typeof setTimeout> }>();

  /** Nobody is there yet. */
  constructor(limits: GreetingLimits) {
    this.#limits = limits;
  }

  /** How many there are. */
  get size(): number {
    return this.#waiting.size;
  }

  /** A connection has come. It is closed when its time is over, or when it is the oldest of too many. */
  begin(socket: Socket): void {
    const key = keyOf(socket);
    this.#drop(key);
    // An honest handshake takes milliseconds: the oldest is the least likely to be one.
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined && this.#waiting.size >= this.#limits.maxHandshakes) this.#drop(oldest);
    const timer = setTimeout(() => this.#drop(key), this.#limits.handshakeTimeoutMs);
    this.#waiting.set(key, { socket, timer });
    socket.once("close", () => {
      if (this.#waiting.get(key)?.socket === socket) this.#forget(key);
    });
  }

  /** A connection is encrypted. @param socket the one that began, or the one over TLS in its place */
  end(socket: Socket): void {
    this.#forget(keyOf(socket));
  }

  /** Closes all. */
  stop(): void {
    for (const key of [...this.#waiting.keys()]) this.#drop(key);
  }

  #drop(key: string): void {
    const socket = this.#forget(key);
    socket?.destroy();
  }

  #forget(key: string): Socket | undefined {
    const waiting = this.#waiting.get(key);
    clearTimeout(waiting?.timer);
    this.#waiting.delete(key);
    return waiting?.socket;
  }
}

/** Where the other side of a connection is. */
export function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): ListenAddress {
  return { hostname: remoteAddress, port: remotePort };
}

/** The same for a connection and for the one over TLS that comes of it, which are different objects. */
function keyOf(socket: Socket): string {
  return formatAddress(peerOf(socket));
}
