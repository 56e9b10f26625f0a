import type { Socket } from "node:net";
import { type Clock, type ListenAddress, systemClock } from "../base/mod.ts";
import { peerOf, TrustedProxies } from "./trusted_proxies.ts";

/** Limits and timeouts of connections. */
export interface ConnectionLimits {
  /** Maximum connections. A further one replaces the connection that has been idle longest, or is refused. */
  maxConnections: number;
  /** Maximum connections before the end of TLS handshake and first request header; a further one replaces the oldest. */
  maxHandshakes: number;
  /** Maximum handshakes of one address; further ones time out after two seconds. An IPv6 /64 counts as one address. */
  maxHandshakesPerAddress: number;
  /** Maximum time for TLS handshake and first request header, milliseconds. */
  handshakeTimeoutMs: number;
  /** A connection without an active request is closed after this time, milliseconds. */
  connectionIdleTimeoutMs: number;
  /**
   * Addresses and networks (CIDR) that are exempt from `maxHandshakesPerAddress`, and are believed when they name a client
   * with the PROXY protocol or `X-Forwarded-For`.
   */
  trustedProxies: readonly string[];
}

/** Default limits. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 4096,
  maxHandshakes: 1024,
  maxHandshakesPerAddress: 64,
  handshakeTimeoutMs: 10_000,
  connectionIdleTimeoutMs: 120_000,
  trustedProxies: [],
};

/** Why a connection was refused or closed. */
export type RefusalReason =
  | "max_connections"
  | "max_handshakes"
  | "max_handshakes_per_address"
  | "handshake_timeout"
  | "proxy_header";

/** An admitted connection. */
export interface Connection {
  /** The peer, or the client that a trusted proxy has named. */
  readonly client: ListenAddress;
  /** True while `client` is a trusted proxy: it may name its client. */
  readonly isFromProxy: boolean;
  /** Takes the client that the trusted proxy names; before TLS and the first request. */
  name: (client: ListenAddress) => void;
  /** Makes `client` a trusted proxy of this connection, whatever its address. */
  trust: () => void;
  /** The client of a request. `forwardedFor`: its header `X-Forwarded-For`; null: none. */
  clientOf: (forwardedFor: string | null) => ListenAddress;
  /** Closes it because of its PROXY header. */
  refuseHeader: () => void;
  /** Marks the begin of a request; the returned function marks its end and may be called twice. */
  begin: () => () => void;
  /** Counts further file descriptors that the connection uses until it closes. */
  grow: (descriptors: number) => void;
  /** Reports that the connection has closed; for a socket that was taken over and emits no event. */
  closed: () => void;
  /** Closes it if its address uses more than half of its handshakes. For clients without a certificate. */
  closeIfCrowded: () => void;
}

/** Handshake timeout beyond the limit per address: enough for a burst of real clients behind one address. */
export const CROWDED_TIMEOUT_MS = 2000;
const MAX_BACKLOG = 511;
const MAX_SWEEP_MS = 1000;
/** Sweeps per shortest timeout. */
const SWEEPS_PER_TIMEOUT = 4;

interface Entry {
  socket: Socket;
  client: ListenAddress;
  isFromProxy: boolean;
  /** Key of the limit per address; undefined for a trusted proxy. */
  address: string | undefined;
  /** Begin of the handshake or idle time, monotonic. */
  sinceMs: number;
  requests: number;
  descriptors: number;
}

/**
 * The connections of one server, on all of its ports. A connection is in handshake until its first request header is
 * read, then active during requests, else idle. Handshakes have a limit per address, so that one address cannot use all
 * slots. Established connections have none, because many clients may share a proxy or NAT.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #proxies: TrustedProxies;
  /** This set and the two below are in the order of their timeouts. */
  readonly #handshakes = new Set<Entry>();
  /** Handshakes beyond the limit per address. */
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
    proxy_header: 0,
  };
  /** Number of times a port ran out of file descriptors and was reopened. */
  acceptErrors = 0;

  /** @throws {RangeError} a trusted proxy is neither an address nor a network */
  constructor(limits: Partial<ConnectionLimits> = {}, { clock = systemClock }: { clock?: Clock } = {}) {
    this.#limits = { ...CONNECTION_LIMITS, ...limits };
    this.#clock = clock;
    this.#proxies = new TrustedProxies(this.#limits.trustedProxies);
  }

  /** Connections by state. */
  get counts(): { handshake: number; active: number; idle: number } {
    return { handshake: this.#pending, active: this.#active, idle: this.#idle.size };
  }

  /** True if a further connection would replace another. */
  get isFull(): boolean {
    return this.#descriptors >= this.#limits.maxConnections;
  }

  /**
   * Listen backlog. Every queued connection uses a file descriptor before it can be refused, so the backlog is limited,
   * too.
   */
  get backlog(): number {
    return Math.min(MAX_BACKLOG, Math.ceil(this.#limits.maxConnections / 2));
  }

  /** Admits a new connection, or closes it and returns undefined. */
  admit(socket: Socket): Connection | undefined {
    if (this.isFull) {
      const quiet = oldest(this.#crowded) ?? oldest(this.#idle) ?? oldest(this.#handshakes);
      if (quiet === undefined) return this.#refuse(socket, "max_connections");
      this.#close(quiet, "max_connections");
    }
    const first = oldest(this.#crowded) ?? oldest(this.#handshakes);
    if (first && this.#pending >= this.#limits.maxHandshakes) this.#close(first, "max_handshakes");
    const [client, sinceMs] = [peerOf(socket), this.#clock.monoMs()];
    const unnamed = { client, isFromProxy: false, address: undefined };
    const entry: Entry = { socket, ...unnamed, sinceMs, requests: 0, descriptors: 1 };
    this.#descriptors++;
    this.#handshakes.add(entry);
    this.#name(entry, client);
    socket.once("close", () => this.#forget(entry));
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#sweepMs());
    return this.#connectionOf(entry);
  }

  #connectionOf(entry: Entry): Connection {
    return {
      get client() {
        return entry.client;
      },
      get isFromProxy() {
        return entry.isFromProxy;
      },
      name: (client) => this.#name(entry, client),
      trust: () => entry.isFromProxy = true,
      clientOf: (forwardedFor) => entry.isFromProxy ? this.#proxies.clientOf(entry.client, forwardedFor) : entry.client,
      refuseHeader: () => this.#close(entry, "proxy_header"),
      begin: () => this.#begin(entry),
      grow: (descriptors) => this.#grow(entry, descriptors),
      closed: () => this.#forget(entry),
      closeIfCrowded: () => {
        const { address } = entry;
        if (address === undefined || this.#count(address) <= this.#limits.maxHandshakesPerAddress / 2) return;
        this.#close(entry, "max_handshakes_per_address");
      },
    };
  }

  /** Counts a handshake with the others of its client's address. */
  #name(entry: Entry, client: ListenAddress): void {
    const isFromProxy = this.#proxies.has(client.hostname);
    const address = isFromProxy ? undefined : networkOf(client.hostname);
    Object.assign(entry, { client, isFromProxy, address });
    if (address === undefined || entry.descriptors === 0) return;
    const count = this.#count(address);
    this.#handshakesOf.set(address, count + 1);
    if (count < this.#limits.maxHandshakesPerAddress) return;
    this.#handshakes.delete(entry);
    // The set stays in the order of its timeouts when a proxy has taken its time to name the client.
    entry.sinceMs = this.#clock.monoMs();
    this.#crowded.add(entry);
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
}

function oldest(entries: ReadonlySet<Entry>): Entry | undefined {
  const [first] = entries;
  return first;
}

/** The /64 network of an IPv6 address, which is what one client is assigned; an IPv4 address unchanged. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const front = head.split(":");
  if (tail === undefined) return front.slice(0, 4).join(":");
  const back = tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...zeros, ...back].slice(0, 4).join(":");
}

/** Connection settings; defaults in {@linkcode CONNECTION_LIMITS}. */
export type ConnectionOptions = {
  [Name in keyof ConnectionLimits]?: ConnectionLimits[Name] | undefined;
};

/** The other half is for journal and state files and for connections being refused. */
const CONNECTIONS_PER_DESCRIPTOR = 0.5;
const MIN_CONNECTIONS = 16;

/**
 * Creates the connections of a server. The default of `maxConnections` is half of the process's file descriptor limit, at
 * most `most`; 4096 if the limit cannot be read.
 *
 * @throws {RangeError} a trusted proxy is neither an address nor a network
 */
export async function openConnections(
  options: ConnectionOptions,
  { most, clock }: { most: number; clock: Clock },
): Promise<Connections> {
  return new Connections({
    maxConnections: options.maxConnections ?? await defaultMaxConnections(most),
    maxHandshakes: options.maxHandshakes ?? CONNECTION_LIMITS.maxHandshakes,
    maxHandshakesPerAddress: options.maxHandshakesPerAddress ?? CONNECTION_LIMITS.maxHandshakesPerAddress,
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? CONNECTION_LIMITS.handshakeTimeoutMs,
    connectionIdleTimeoutMs: options.connectionIdleTimeoutMs ?? CONNECTION_LIMITS.connectionIdleTimeoutMs,
    trustedProxies: options.trustedProxies ?? CONNECTION_LIMITS.trustedProxies,
  }, { clock });
}

async function defaultMaxConnections(most: number): Promise<number> {
  const files = await openFilesLimit();
  if (Number.isNaN(files)) return CONNECTION_LIMITS.maxConnections;
  return Math.max(MIN_CONNECTIONS, Math.min(most, Math.floor(files * CONNECTIONS_PER_DESCRIPTOR)));
}

/**
 * The file descriptor limit of the process; NaN if unknown. Read from a child shell, which inherits the limit: `/proc`
 * would need all permissions of the runtime.
 */
async function openFilesLimit(): Promise<number> {
  if (Deno.permissions.querySync({ name: "run" }).state !== "granted") return NaN;
  try {
    const { stdout } = await new Deno.Command("sh", { args: ["-c", "ulimit -n"], stderr: "null" }).output();
    return Number.parseInt(new TextDecoder().decode(stdout));
  } catch {
    return NaN;
  }
}
