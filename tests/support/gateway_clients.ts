import { Buffer } from "node:buffer";
import { type CanBus, createSourceBus, parseBusSource, splitFastPacket } from "../../src/can/mod.ts";
import { buildCanId, type CanFrame, formatHex } from "../../src/frame/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import type { GatewayTarget } from "../../src/integrations/mod.ts";
import { TestBoat, type TestBoatOptions } from "./boat.ts";
import { eventually } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";
import { Random } from "./random.ts";

/** PGNs of the traffic: single frames with and without destination, fast packets. */
const PGNS = [127250, 129025, 130306, 59392, 65280, 61184, 129029, 126720, 130820, 126996, 129540];
const LONGEST = 223;

/** Identifier and payload, as tests compare them. */
export function textOf(id: number, data: Uint8Array): string {
  return `${id.toString(16)}#${formatHex(data)}`;
}

/** Random messages of many devices, with the frames that carry them. */
export class Traffic {
  readonly #random: Random;
  readonly #counters = new Map<number, number>();

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  /** Puts messages on the first bus until these many frames are reached. Returns what was put there. */
  feed(boat: TestBoat, frames: number): { frames: string[]; messages: string[] } {
    const fed = { frames: [] as string[], messages: [] as string[] };
    while (fed.frames.length < frames) {
      const pgn = PGNS[this.#random.int(PGNS.length)] ?? 0;
      const id = buildCanId({ prio: this.#random.int(8), pgn, src: this.#random.int(250), dst: this.#random.int(256) });
      const isFast = isFastPacket(pgn);
      const data = this.#random.bytes(isFast ? 9 + this.#random.int(LONGEST - 8) : 8);
      const counter = this.#counters.get(id) ?? 0;
      this.#counters.set(id, counter + 1);
      for (const frame of isFast ? splitFastPacket(data, counter) : [data]) {
        boat.buses[0]!.inject(id, frame);
        fed.frames.push(textOf(id, frame));
      }
      fed.messages.push(textOf(id, data));
    }
    return fed;
  }
}

/** Our own gateway bus as a client: what it reads, in order. */
export class BusClient implements AsyncDisposable {
  /** Frames and messages since the last {@linkcode BusClient.take}. */
  readonly read: string[] = [];
  readonly bus: CanBus;

  private constructor(source: string) {
    this.bus = createSourceBus(parseBusSource(source));
  }

  /** Connects; `format` is one of our bus's. */
  static async open(port: number, format: string): Promise<BusClient> {
    const client = new BusClient(`tcp://127.0.0.1:${port}#${format}`);
    const note = ({ id, data, offset, length }: CanFrame) =>
      client.read.push(textOf(id, data.subarray(offset, offset + length)));
    await client.bus.open({ frame: note, message: note, state: () => {} });
    return client;
  }

  take(): string[] {
    return this.read.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bus.close();
  }
}

/** A program that speaks a gateway's format over TCP. */
export class RawClient implements Disposable {
  readonly connection: Deno.TcpConn;
  #text = "";
  isClosed = false;

  private constructor(connection: Deno.TcpConn, reads: boolean) {
    this.connection = connection;
    if (reads) void this.read();
  }

  static async open(port: number, { reads = true }: { reads?: boolean } = {}): Promise<RawClient> {
    return new RawClient(await Deno.connect({ hostname: "127.0.0.1", port }), reads);
  }

  /** All that has been read, as Latin-1. */
  get text(): string {
    return this.#text;
  }

  get lines(): string[] {
    return this.#text.split("\r\n").slice(0, -1);
  }

  /** The complete lines since the last call. */
  takeLines(): string[] {
    const lines = this.#text.split(/\r?\n/);
    this.#text = lines.pop() ?? "";
    return lines;
  }

  async write(...lines: string[]): Promise<void> {
    await this.writeBytes(new TextEncoder().encode(lines.map((line) => `${line}\r\n`).join("")));
  }

  async writeBytes(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.connection.write(bytes.subarray(at));
  }

  /** Reads until the connection ends. */
  async read(): Promise<void> {
    try {
      // Not a TextDecoder, whose "latin1" is Windows-1252.
      for await (const piece of this.connection.readable) this.#text += Buffer.from(piece).toString("latin1");
    } catch {
      // It was closed.
    }
    this.isClosed = true;
  }

  [Symbol.dispose](): void {
    try {
      this.connection.close();
    } catch {
      // Closed already.
    }
  }
}

/** Waits for the clients of the gateway server. */
export async function connected(boat: TestBoat, count: number): Promise<void> {
  await eventually(`${count} clients`, async () => await boat.metric("vbg_gateway_clients") === count);
}

/** Clients may send anything. */
export const SENDING = { sendEnabled: true, sendRateLimit: 0, sendRules: [] };

/** A port that is held. */
export const on = (port: HeldPort, rest: Pick<GatewayTarget, "format" | "send" | "bus">): GatewayTarget => ({
  protocol: "tcp",
  hostname: "127.0.0.1",
  port: port.port,
  ...rest,
});

/** Starts a boat whose gateway server has one port. */
export async function start(
  rest: Pick<GatewayTarget, "format" | "send" | "bus">,
  { bufferBytes, ...options }: TestBoatOptions & { bufferBytes?: number } = {},
) {
  const held = HeldPort.take();
  const gateway = { targets: [on(held, rest)], ...(bufferBytes !== undefined && { bufferBytes }) };
  const boat = await TestBoat.start({ gateway, ...options });
  return {
    boat,
    port: held.port,
    async [Symbol.asyncDispose]() {
      await boat[Symbol.asyncDispose]();
      held[Symbol.dispose]();
    },
  };
}
