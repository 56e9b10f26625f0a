import { type Clock, errorText, formatAddress, type ListenAddress, type Logger } from "../base/mod.ts";
import type { Chunk, LineCounters, LineTarget } from "./lines.ts";
import { UdpPort } from "./udp_port.ts";

/** Limits of a {@linkcode LineServer}. */
export interface LineLimits {
  /** Clients connected at once. */
  maxClients: number;
  /** Bytes that wait for one client. */
  bufferBytes: number;
}

/** A client that takes nothing for this time is disconnected, milliseconds. */
export const STALLED_MS = 30_000;
/** Time between two attempts to open a port, milliseconds. */
const RETRY_MS = 5000;
const READ_BYTES = 4096;

/** A connected client, for those who read what it sends. */
export interface LineClient {
  /** Its address and port. */
  readonly address: string;
  /** Queues lines for this client alone; drops them if its buffer is full. */
  send(chunk: Chunk): void;
}

/** Receives what one client sends. */
export interface ClientInput {
  /** Called for each piece; the buffer is reused. */
  received(piece: Uint8Array): void;
  /** Called when the connection is closed. */
  closed(): void;
}

/** Options of a {@linkcode LineServer}. */
export interface LineServerOptions {
  /** Name in log lines. */
  name: string;
  targets: readonly LineTarget[];
  limits: LineLimits;
  clock: Clock;
  log: Logger;
  /** Most bytes in one datagram, if it holds several lines; default: one line each. */
  datagramBytes?: number;
  /** Called for each new client; default: what clients send is ignored. */
  connected?: (client: LineClient) => ClientInput;
}

/**
 * Sends text lines to TCP clients and UDP addresses. Never waits for a receiver: each has a bounded buffer, whose drops are
 * counted, and one that takes nothing is disconnected.
 */
export class LineServer {
  readonly #options: LineServerOptions;
  readonly #ports: readonly (TcpPort | UdpPort)[];
  readonly #counters: LineCounters = { sent: 0, dropped: 0, refused: 0, ignored: 0 };
  readonly #clients = new Set<Client>();
  /** Problem of each port in the last log line. */
  readonly #logged: (string | undefined)[] = [];

  constructor(options: LineServerOptions) {
    this.#options = options;
    this.#ports = options.targets.map((target) =>
      target.protocol === "tcp" ? new TcpPort(target, (connection) => this.#accept(connection)) : new UdpPort(target, {
        counters: this.#counters,
        bufferBytes: options.limits.bufferBytes,
        datagramBytes: options.datagramBytes ?? 0,
      })
    );
  }

  /** Totals since the start. */
  get counters(): Readonly<LineCounters> {
    return this.#counters;
  }

  /** Connected clients. */
  get clients(): number {
    return this.#clients.size;
  }

  /** True if somebody gets the lines. */
  get hasReceivers(): boolean {
    return this.#clients.size > 0 || this.#ports.some(({ target }) => target.protocol === "udp");
  }

  /** Addresses in use, in the order of the targets; undefined: not open. */
  get addresses(): readonly (ListenAddress | undefined)[] {
    return this.#ports.map(({ address }) => address);
  }

  /** Degraded while a port cannot be opened or an address cannot be reached. */
  health(): { status: "ok" | "degraded"; message: string } {
    const problems = this.#ports.flatMap(({ target, problem }) =>
      problem === undefined ? [] : [`${textOf(target)}: ${problem}`]
    );
    if (problems.length > 0) return { status: "degraded", message: problems.join("; ") };
    return { status: "ok", message: `${this.clients} clients` };
  }

  /** Opens what is not open, and disconnects clients that take nothing. Call it about once a second. */
  maintain(): void {
    const { clock, log, name } = this.#options;
    const nowMs = clock.monoMs();
    for (const [index, port] of this.#ports.entries()) {
      port.open(nowMs);
      const { problem } = port;
      if (index < this.#logged.length && problem === this.#logged[index]) continue;
      this.#logged[index] = problem;
      const address = textOf(port.target);
      if (problem === undefined) log.info(`${name} port open`, { address });
      else log.error(`${name} port failed`, { address, reason: problem });
    }
    for (const client of this.#clients) if (client.isStalled(nowMs)) client.close("takes no data");
  }

  /** Sends lines, each with its line end, to everybody. */
  send(lines: readonly string[]): void {
    if (lines.length === 0) return;
    // Lines are ASCII: as many bytes as characters.
    this.sendChunk({ bytes: new TextEncoder().encode(lines.join("")), lengths: lines.map(({ length }) => length) });
  }

  /** Sends lines that are encoded already to everybody. */
  sendChunk(chunk: Chunk): void {
    for (const port of this.#ports) if (port instanceof UdpPort) port.send(chunk);
    for (const client of this.#clients) client.send(chunk);
  }

  /** Closes ports and connections. */
  stop(): void {
    for (const port of this.#ports) port.close();
    for (const client of [...this.#clients]) client.close("server stops");
  }

  #accept(connection: Deno.TcpConn): void {
    const { limits, clock, log, name } = this.#options;
    const address = formatAddress(addressOf(connection.remoteAddr));
    if (this.#clients.size >= limits.maxClients) {
      // Logged for the first one only: the metric has the others.
      if (this.#counters.refused++ === 0) {
        log.warn(`${name} client refused`, { client: address, most: limits.maxClients });
      }
      connection.close();
      return;
    }
    const client: Client = new Client(connection, {
      counters: this.#counters,
      bufferBytes: limits.bufferBytes,
      clock,
      address,
      connected: this.#options.connected,
      changed: (message, fields) => log.info(`${name} client ${message}`, { client: address, ...fields }),
      closed: () => this.#clients.delete(client),
    });
    this.#clients.add(client);
    log.info(`${name} client connected`, { client: address });
  }
}

/** A listening TCP port, opened again when it cannot be opened at first. */
class TcpPort {
  readonly target: LineTarget;
  readonly #accept: (connection: Deno.TcpConn) => void;
  #listener: Deno.TcpListener | undefined;
  #retryMs = -Infinity;
  problem: string | undefined;

  constructor(target: LineTarget, accept: (connection: Deno.TcpConn) => void) {
    this.target = target;
    this.#accept = accept;
  }

  get address(): ListenAddress | undefined {
    return this.#listener && addressOf(this.#listener.addr);
  }

  open(nowMs: number): void {
    if (this.#listener || nowMs < this.#retryMs) return;
    this.#retryMs = nowMs + RETRY_MS;
    const { hostname, port } = this.target;
    try {
      this.#listener = Deno.listen({ hostname, port });
      this.problem = undefined;
      void this.#run(this.#listener);
    } catch (error) {
      this.problem = errorText(error);
    }
  }

  close(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.close();
  }

  async #run(listener: Deno.TcpListener): Promise<void> {
    while (this.#listener === listener) {
      try {
        this.#accept(await listener.accept());
      } catch (error) {
        if (this.#listener !== listener) return;
        // Such as too many open files: the port is closed and opened again.
        this.problem = errorText(error);
        this.close();
      }
    }
  }
}

interface ClientOptions {
  counters: LineCounters;
  bufferBytes: number;
  clock: Clock;
  address: string;
  connected: LineServerOptions["connected"];
  /** Called on every change of state. */
  changed: (message: string, fields?: Record<string, string | number>) => void;
  closed: () => void;
}

class Client implements LineClient {
  readonly address: string;
  readonly #connection: Deno.TcpConn;
  readonly #options: ClientOptions;
  readonly #input: ClientInput | undefined;
  #queue: Chunk[] = [];
  #waitingBytes = 0;
  /** Begin of the write under way, monotonic milliseconds. */
  #writingSinceMs: number | undefined;
  #dropped = 0;
  #isBehind = false;
  #isClosed = false;

  constructor(connection: Deno.TcpConn, options: ClientOptions) {
    this.#connection = connection;
    this.#options = options;
    this.address = options.address;
    this.#input = options.connected?.(this);
    connection.setNoDelay(true);
    connection.setKeepAlive(true);
    void this.#read();
  }

  /** Queues lines; drops them if the buffer is full. */
  send(chunk: Chunk): void {
    const { counters, bufferBytes, changed } = this.#options;
    if (this.#waitingBytes + chunk.bytes.length > bufferBytes) {
      counters.dropped += chunk.lengths.length;
      this.#dropped += chunk.lengths.length;
      if (!this.#isBehind) changed("too slow, lines are dropped");
      this.#isBehind = true;
      return;
    }
    this.#queue.push(chunk);
    this.#waitingBytes += chunk.bytes.length;
    if (this.#writingSinceMs === undefined) void this.#write();
  }

  /** True if it took nothing for {@linkcode STALLED_MS}. */
  isStalled(nowMs: number): boolean {
    return this.#writingSinceMs !== undefined && nowMs - this.#writingSinceMs > STALLED_MS;
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { counters, changed, closed } = this.#options;
    const waiting = this.#queue.reduce((sum, { lengths }) => sum + lengths.length, 0);
    counters.dropped += waiting;
    this.#queue = [];
    this.#connection.close();
    this.#input?.closed();
    closed();
    changed("disconnected", { reason, dropped: this.#dropped + waiting });
  }

  async #write(): Promise<void> {
    const { counters, clock, changed } = this.#options;
    try {
      for (let chunk = this.#queue[0]; chunk; chunk = this.#queue[0]) {
        for (let at = 0; at < chunk.bytes.length;) {
          this.#writingSinceMs = clock.monoMs();
          at += await this.#connection.write(chunk.bytes.subarray(at));
        }
        if (this.#isClosed) return;
        this.#queue.shift();
        this.#waitingBytes -= chunk.bytes.length;
        counters.sent += chunk.lengths.length;
      }
      if (this.#isBehind) changed("keeps up again", { dropped: this.#dropped });
      this.#isBehind = false;
    } catch (error) {
      this.close(errorText(error));
    } finally {
      this.#writingSinceMs = undefined;
    }
  }

  /** Reads what the client sends. One that ends its side may still read. */
  async #read(): Promise<void> {
    const { counters, changed } = this.#options;
    const buffer = new Uint8Array(READ_BYTES);
    try {
      for (let count = await this.#connection.read(buffer); count !== null;) {
        if (this.#input) this.#input.received(buffer.subarray(0, count));
        else if (counters.ignored++ === 0) changed("sends data, which is ignored");
        count = await this.#connection.read(buffer);
      }
    } catch {
      // The next write reports it.
    }
  }
}

function addressOf(address: Deno.NetAddr): ListenAddress {
  return { hostname: address.hostname, port: address.port };
}

function textOf({ protocol, ...address }: LineTarget): string {
  return `${protocol}://${formatAddress(address)}`;
}
