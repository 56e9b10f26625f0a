import { BlockList, isIP, type Socket } from "node:net";
import { type Clock, errorText, systemClock } from "../base/mod.ts";

/** How many connections a server keeps, and for how long. */
export interface ConnectionLimits {
  /** Most connections. For one more the connection that has been quiet the longest is closed, else the new one. */
  maxConnections: number;
  /** Most connections that have not finished TLS and their first request header; the oldest is closed for one more. */
  maxHandshakes: number;
  /** Of these, most from one address; further ones have two seconds. An IPv6 network of 64 bits counts as one address. */
  maxHandshakesPerAddress: number;
  /** Longest time to finish TLS and the first request header, milliseconds. */
  handshakeTimeoutMs: number;
  /** A connection without a request under way is closed after so long, milliseconds. */
  connectionIdleTimeoutMs: number;
  /** Addresses and networks (CIDR) that `maxHandshakesPerAddress` does not hold for. */
  trustedProxies: readonly string[];
}

/** What {@linkcode ConnectionLimits} are without a setting. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 4096,
  maxHandshakes: 1024,
  maxHandshakesPerAddress: 64,
  handshakeTimeoutMs: 10_000,
  connectionIdleTimeoutMs: 120_000,
  trustedProxies: [],
};

/** Why a connection was closed before a request of it was answered. */
export type RefusalReason = "max_connections" | "max_handshakes" | "max_handshakes_per_address" | "handshake_timeout";

/** An admitted connection. */
export interface Connection {
  /** A request is under way from now until the returned function is called; calling that twice is harmless. */
  begin: () => () => void;
  /** The connection needs so many more file descriptors until it closes. */
  grow: (descriptors: number) => void;
  /** The connection has closed. For connections whose socket is taken over and does not report it. */
  closed: () => void;
  /** Closes it unless more than half of its address's handshakes are free. For clients that show no certificate. */
  closeIfCrowded: () => void;
}

/** A burst of honest clients behind one address is through within this time; what only waits is not. */
export const CROWDED_TIMEOUT_MS = 2000;
const MAX_BACKLOG = 511;
const MAX_SWEEP_MS = 1000;
/** Sweeps within the shortest timeout. */
const SWEEPS_PER_TIMEOUT = 4;

interface Entry {
  socket: Socket;
  /** Under what its handshake is counted; undefined where no limit holds. */
  address: string | undefined;
  /** In handshake or idle since then. */
  sinceMs: number;
  requests: number;
  descriptors: number;
}

/**
 * The connections of one server, on all of its ports. One is in handshake until its first request header is read, then
 * active while a request is under way, else idle. Established connections have no limit per address: behind a proxy or
 * NAT there are many clients. Handshakes have, so that one address cannot take all slots.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #trusted: BlockList;
  /** All three in the order in which they time out. */
  readonly #handshakes = new Set<Entry>();
  /** Handshakes beyond what one address may have. */
  readonly #crowded = new Set<Entry>();
  readonly #idle = new Set<Entry>();
  readonly #handshakesOf = new Map<string, number>();
  #descriptors = 0;
  #active = 0;
  #sweeping: ReturnType<typeof setInterval> | undefined;
  /** Connections refused or closed, by reason. */
  readonly refused: Record<RefusalReason, number> = {
    max_connections: 0,
    max_handshakes: 0,
    max_handshakes_per_address: 0,
    handshake_timeout: 0,
  };
  /** Times that a port had stopped accepting, for want of file descriptors, and was opened again. */
  acceptErrors = 0;

  /** @throws {RangeError} a trusted proxy is neither an address nor a network */
  constructor(limits: Partial<ConnectionLimits> = {}, { clock = systemClock }: { clock?: Clock } = {}) {
    this.#limits = { ...CONNECTION_LIMITS, ...limits };
    this.#clock = clock;
    this.#trusted = parseNetworks(this.#limits.trustedProxies);
  }

  /** Connections by state. */
  get counts(): { handshake: number; active: number; idle: number } {
    return { handshake: this.#pending, active: this.#active, idle: this.#idle.size };
  }

  /** No further connection is admitted without closing another. */
  get isFull(): boolean {
    return this.#descriptors >= this.#limits.maxConnections;
  }

  /**
   * Connections that the kernel should keep ready: each takes a descriptor before it can be refused, and together with
   * what is admitted they must leave room.
   */
  get backlog(): number {
    return Math.min(MAX_BACKLOG, Math.ceil(this.#limits.maxConnections / 2));
  }

  /** Takes a new connection, or closes it and returns undefined. */
  admit(socket: Socket): Connection | undefined {
    const address = this.#addressOf(socket);
    const { maxHandshakes, maxHandshakesPerAddress } = this.#limits;
    if (this.isFull) {
      const quiet = oldest(this.#crowded) ?? oldest(this.#idle) ?? oldest(this.#handshakes);
      if (quiet === undefined) return this.#refuse(socket, "max_connections");
      this.#close(quiet, "max_connections");
    }
    const first = oldest(this.#crowded) ?? oldest(this.#handshakes);
    if (first && this.#pending >= maxHandshakes) this.#close(first, "max_handshakes");
    const entry: Entry = { socket, address, sinceMs: this.#clock.monoMs(), requests: 0, descriptors: 1 };
    const isCrowded = address !== undefined && this.#count(address) >= maxHandshakesPerAddress;
    (isCrowded ? this.#crowded : this.#handshakes).add(entry);
    this.#descriptors++;
    if (address !== undefined) this.#handshakesOf.set(address, this.#count(address) + 1);
    socket.once("close", () => this.#forget(entry));
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#sweepMs());
    return {
      begin: () => this.#begin(entry),
      grow: (descriptors) => this.#grow(entry, descriptors),
      closed: () => this.#forget(entry),
      closeIfCrowded: () => {
        if (address === undefined || this.#count(address) <= maxHandshakesPerAddress / 2) return;
        this.#close(entry, "max_handshakes_per_address");
      },
    };
  }

  #begin(entry: Entry): () => void {
    if (entry.descriptors === 0) return () => {};
    if (entry.requests++ === 0) {
      this.#endHandshake(entry);
      this.#idle.delete(entry);
      this.#active++;
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--entry.requests > 0 || entry.descriptors === 0) return;
      this.#active--;
      entry.sinceMs = this.#clock.monoMs();
      this.#idle.add(entry);
      this.#sweeping ??= setInterval(() => this.#sweep(), this.#sweepMs());
    };
  }

  #grow(entry: Entry, descriptors: number): void {
    if (entry.descriptors === 0) return;
    entry.descriptors += descriptors;
    this.#descriptors += descriptors;
  }

  #forget(entry: Entry): void {
    if (entry.descriptors === 0) return;
    this.#descriptors -= entry.descriptors;
    entry.descriptors = 0;
    this.#endHandshake(entry);
    if (!this.#idle.delete(entry) && entry.requests > 0) this.#active--;
  }

  #endHandshake(entry: Entry): void {
    const wasPending = this.#handshakes.delete(entry) || this.#crowded.delete(entry);
    if (!wasPending || entry.address === undefined) return;
    const left = this.#count(entry.address) - 1;
    if (left > 0) this.#handshakesOf.set(entry.address, left);
    else this.#handshakesOf.delete(entry.address);
  }

  #refuse(socket: Socket, reason: RefusalReason): undefined {
    this.refused[reason]++;
    socket.destroy();
  }

  #close(entry: Entry, reason: RefusalReason): void {
    this.#refuse(entry.socket, reason);
    this.#forget(entry);
  }

  #sweep(): void {
    const nowMs = this.#clock.monoMs();
    const { handshakeTimeoutMs, connectionIdleTimeoutMs } = this.#limits;
    for (const entry of this.#handshakes) {
      if (nowMs - entry.sinceMs < handshakeTimeoutMs) break;
      this.#close(entry, "handshake_timeout");
    }
    for (const entry of this.#crowded) {
      if (nowMs - entry.sinceMs < Math.min(CROWDED_TIMEOUT_MS, handshakeTimeoutMs)) break;
      this.#close(entry, "max_handshakes_per_address");
    }
    for (const entry of this.#idle) {
      if (nowMs - entry.sinceMs < connectionIdleTimeoutMs) break;
      entry.socket.destroy();
      this.#forget(entry);
    }
    if (this.#pending + this.#idle.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }

  #sweepMs(): number {
    const { handshakeTimeoutMs, connectionIdleTimeoutMs } = this.#limits;
    return Math.min(
      MAX_SWEEP_MS,
      Math.ceil(Math.min(handshakeTimeoutMs, connectionIdleTimeoutMs) / SWEEPS_PER_TIMEOUT),
    );
  }

  get #pending(): number {
    return this.#handshakes.size + this.#crowded.size;
  }

  #count(address: string): number {
    return this.#handshakesOf.get(address) ?? 0;
  }

  #addressOf({ remoteAddress = "" }: Socket): string | undefined {
    const family = isIP(remoteAddress);
    if (family !== 0 && this.#trusted.check(remoteAddress, family === 6 ? "ipv6" : "ipv4")) return undefined;
    return networkOf(remoteAddress);
  }
}

function oldest(entries: ReadonlySet<Entry>): Entry | undefined {
  const [first] = entries;
  return first;
}

/** The first 64 bits of an IPv6 address, which is what one client is given; an IPv4 address as it is. */
function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = address.split("::");
  const front = head.split(":");
  if (tail === undefined) return front.slice(0, 4).join(":");
  const back = tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...zeros, ...back].slice(0, 4).join(":");
}

/** What is wrong with an address or a network, or nothing. */
export function networksProblem(text: string): string | undefined {
  try {
    parseNetworks([text]);
  } catch (error) {
    return errorText(error);
  }
}

/**
 * Reads addresses and networks such as `10.0.0.0/8`.
 *
 * @throws {RangeError} one is neither
 */
function parseNetworks(texts: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of texts) {
    const [address = "", bits] = text.split("/");
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
    if (family === 0 || !(prefix <= most)) {
      throw new RangeError(`Cannot read "${text}": expected an address or a network, such as 10.0.0.0/8`);
    }
    networks.addSubnet(address, prefix, family === 6 ? "ipv6" : "ipv4");
  }
  return networks;
}
