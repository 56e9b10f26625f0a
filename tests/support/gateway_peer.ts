import type { BusCounters, BusSink, BusState, CanBus } from "../../src/can/mod.ts";
import { pause } from "../contract/recorder.ts";

/** A gateway's side of connections over TCP, on a port of its own that stays when it goes and comes back. */
export class GatewayPeer {
  readonly port: number;
  /** All bytes that came, over all connections. */
  readonly heard: number[] = [];
  /** Connections that were made so far. */
  connections = 0;
  readonly #onBytes: ((bytes: Uint8Array, peer: GatewayPeer) => void) | undefined;
  readonly #open = new Set<Deno.TcpConn>();
  readonly #reading = new Set<Promise<void>>();
  #listener: Deno.TcpListener | undefined;
  /** While true, nothing is read. */
  isDeaf = false;

  /**
   * @param onBytes answers what comes
   * @param options `port`: held, where it comes back to it
   */
  constructor(onBytes?: (bytes: Uint8Array, peer: GatewayPeer) => void, { port = 0 } = {}) {
    this.#onBytes = onBytes;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port });
    this.port = (this.#listener.addr as Deno.NetAddr).port;
    void this.#accept(this.#listener);
  }

  /** Everything that came, as text. */
  get text(): string {
    return new TextDecoder().decode(Uint8Array.from(this.heard));
  }

  /** Connections that are open. */
  get open(): number {
    return this.#open.size;
  }

  /** Sends to all who are connected, in one write. */
  async say(bytes: Uint8Array | string): Promise<void> {
    const all = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    for (const connection of this.#open) {
      for (let at = 0; at < all.length;) at += await connection.write(all.subarray(at));
    }
  }

  /** Ends all connections; others may follow. */
  hangUp(): void {
    for (const connection of this.#open) connection.close();
    this.#open.clear();
  }

  /** Goes away. */
  async stop(): Promise<void> {
    this.#listener?.close();
    this.#listener = undefined;
    this.hangUp();
    await Promise.all(this.#reading);
  }

  /** Comes back. */
  start(): void {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: this.port });
    void this.#accept(this.#listener);
  }

  async #accept(listener: Deno.TcpListener): Promise<void> {
    for await (const connection of listener) {
      this.connections++;
      this.#open.add(connection);
      const reading: Promise<void> = this.#read(connection).finally(() => this.#reading.delete(reading));
      this.#reading.add(reading);
    }
  }

  async #read(connection: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(65536);
    try {
      for (;;) {
        while (this.isDeaf) await pause(5);
        const count = await connection.read(buffer);
        if (count === null) break;
        this.heard.push(...buffer.subarray(0, count));
        this.#onBytes?.(buffer.slice(0, count), this);
      }
    } catch {
      // Hung up.
    }
    if (this.#open.delete(connection)) connection.close();
  }
}

/** Answers of a Yacht Devices gateway: each line that is sent comes back with a time and a T. */
export function ydwgEchoes(): (bytes: Uint8Array) => string {
  let rest = "";
  return (bytes) => {
    const lines = (rest + new TextDecoder().decode(bytes)).split("\r\n");
    rest = lines.pop() ?? "";
    const time = new Date().toISOString().slice(11, 23);
    return lines.map((line) => `${time} T ${line}\r\n`).join("");
  };
}

/** The other side of a bus under test, which lives as long as the bus is open. */
export interface OtherSide {
  /** A bus that reaches it. */
  bus: CanBus;
  stop: () => Promise<void> | void;
}

/** A bus that starts its other side when it is opened. */
export class PeeredBus implements CanBus {
  readonly name: string;
  readonly #start: (name: string) => OtherSide | Promise<OtherSide>;
  #side: OtherSide | undefined;
  #last: CanBus | undefined;

  constructor(name: string, start: (name: string) => OtherSide | Promise<OtherSide>) {
    this.name = name;
    this.#start = start;
  }

  get state(): BusState {
    return this.#last?.state ?? { type: "closed" };
  }

  get counters(): Readonly<BusCounters> {
    return this.#bus.counters;
  }

  get #bus(): CanBus {
    if (!this.#last) throw new Error("this bus has not been opened");
    return this.#last;
  }

  async open(sink: BusSink): Promise<void> {
    this.#side = await this.#start(this.name);
    this.#last = this.#side.bus;
    await this.#last.open(sink);
  }

  async send(id: number, data: Uint8Array): Promise<void> {
    if (this.#last) return await this.#last.send(id, data);
    // What a bus that was never opened does is asked of one whose other side is stopped at once.
    const { bus, stop } = await this.#start(this.name);
    await stop();
    await bus.send(id, data);
  }

  async close(): Promise<void> {
    const side = this.#side;
    this.#side = undefined;
    await this.#last?.close();
    await side?.stop();
  }
}
