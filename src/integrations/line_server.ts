import {
  type Clock,
  errorText,
  formatAddress,
  type ListenAddress,
  type Logger,
  pause,
  TokenBucket,
} from "../base/mod.ts";
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
/** Bytes of all clients together that are read in a second, beyond a burst of the same size. */
export const INPUT_BYTES_PER_SECOND = 131_072;
/** Time between two attempts to open a port, milliseconds. */
const RETRY_MS = 5000;
/** Input that is handled without a pause. */
const READ_BYTES = 1024;

const OPEN = "open";

/** A connected client, for those who read what it sends. */
export interface LineClient {
  /** Its address and port. */
  readonly address: string;
  /** False while more than half of its buffer waits to be sent. */
  readonly hasRoom: boolean;
  /** Queues lines for this client alone; drops what does not fit in its buffer. */
  send(chunk: Chunk): void;
}

/** Receives what one client sends. */
export interface ClientInput {
  /**
   * Called for each piece; the buffer is reused.
   *
   * @returns work that it caused, in bytes of input that take as long: as if the client had sent so many more
   */
  received(piece: Uint8Array): number;
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
  readonly #allowance = new TokenBucket({ perSecond: INPUT_BYTES_PER_SECOND, burst: INPUT_BYTES_PER_SECOND });
  /** State of each port in the last log line: its problem, or {@linkcode OPEN}. */
  readonly #logged: string[] = [];

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
    const nowMs = this.#options.clock.monoMs();
    for (const [index, port] of this.#ports.entries()) {
      // A failure since the last time is logged though the port opens again at once.
      this.#report(index, port);
      port.open(nowMs);
      this.#report(index, port);
    }
    for (const client of this.#clients) {
      const reason = client.whyIdle(nowMs);
      if (reason !== undefined) client.close(reason);
    }
  }

  /** Logs the state of a port if it has changed. */
  #report(index: number, { target, problem, address }: TcpPort | UdpPort): void {
    if ((problem === undefined && !address) || this.#logged[index] === (problem ?? OPEN)) return;
    this.#logged[index] = problem ?? OPEN;
    const { log, name } = this.#options;
    if (problem === undefined) log.info(`${name} port open`, { address: textOf(target) });
    else log.error(`${name} port failed`, { address: textOf(target), reason: problem });
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
      allowance: this.#allowance,
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
  /** Bytes of input, of all clients. */
  allowance: TokenBucket;
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
  /** When the client had ended its side and was last sent something, monotonic milliseconds; undefined: it may write. */
  #endedMs: number | undefined;
  #dropped = 0;
  #isBehind = false;
  readonly #closing = new AbortController();

  constructor(connection: Deno.TcpConn, options: ClientOptions) {
    this.#connection = connection;
    this.#options = options;
    this.address = options.address;
    this.#input = options.connected?.(this);
    connection.setNoDelay(true);
    connection.setKeepAlive(true);
    void this.#read();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  get hasRoom(): boolean {
    return this.#waitingBytes <= this.#options.bufferBytes / 2;
  }

  /** Queues lines; drops those that do not fit in the buffer. If nothing waits, all are written at once. */
  send(chunk: Chunk): void {
    const { counters, bufferBytes, changed } = this.#options;
    const fitting = this.#queue.length === 0 ? chunk : firstLines(chunk, bufferBytes - this.#waitingBytes);
    const dropped = chunk.lengths.length - fitting.lengths.length;
    if (dropped > 0) {
      counters.dropped += dropped;
      this.#dropped += dropped;
      if (!this.#isBehind) changed("too slow, lines are dropped");
      this.#isBehind = true;
    }
    if (fitting.lengths.length === 0) return;
    this.#queue.push(fitting);
    this.#waitingBytes += fitting.bytes.length;
    if (this.#writingSinceMs === undefined) void this.#write();
  }

  /** Why to disconnect it: for {@linkcode STALLED_MS} it took nothing, or it may be gone and nothing was sent to find out. */
  whyIdle(nowMs: number): string | undefined {
    const isLong = (sinceMs = nowMs) => nowMs - sinceMs > STALLED_MS;
    if (isLong(this.#writingSinceMs)) return "takes no data";
    return isLong(this.#endedMs) ? "ended its side, and there is nothing to send" : undefined;
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#closing.abort();
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
        if (this.#endedMs !== undefined) this.#endedMs = clock.monoMs();
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
    const { counters, clock, allowance, changed } = this.#options;
    const buffer = new Uint8Array(READ_BYTES);
    try {
      for (let count = await this.#connection.read(buffer); count !== null;) {
        let cost = count;
        if (this.#input) cost += this.#input.received(buffer.subarray(0, count));
        else if (counters.ignored++ === 0) changed("sends data, which is ignored");
        // What a client writes too fast waits in its own system. One that writes little needs few tokens, and gets them first.
        while (cost > 0) {
          const part = Math.min(cost, READ_BYTES);
          if (allowance.take(clock.monoMs(), part)) cost -= part;
          else await pause(allowance.waitMs(part), this.#closing.signal);
        }
        count = await this.#connection.read(buffer);
      }
      this.#endedMs = clock.monoMs();
    } catch (error) {
      this.close(errorText(error));
    }
  }
}

/** The first lines of a chunk, as many as fit. */
function firstLines(chunk: Chunk, mostBytes: number): Chunk {
  if (chunk.bytes.length <= mostBytes) return chunk;
  let [bytes, lines] = [0, 0];
  for (; bytes + (chunk.lengths[lines] ?? Infinity) <= mostBytes; lines++) bytes += chunk.lengths[lines] ?? 0;
  return { bytes: chunk.bytes.subarray(0, bytes), lengths: chunk.lengths.slice(0, lines) };
}

function addressOf(address: Deno.NetAddr): ListenAddress {
  return { hostname: address.hostname, port: address.port };
}

function textOf({ protocol, ...address }: LineTarget): string {
  return `${protocol}://${formatAddress(address)}`;
}
