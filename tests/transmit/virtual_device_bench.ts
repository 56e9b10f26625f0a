import { silentLogger } from "../../src/base/mod.ts";
import { Assembler, LoopbackBus, splitFastPacket } from "../../src/can/mod.ts";
import { buildCanId, formatHex, type Message, NAME_BYTES, parseCanId } from "../../src/frame/mod.ts";
import {
  type AddressUser,
  type OutgoingMessage,
  type Transmit,
  TransmitError,
  VirtualDevice,
  type VirtualDeviceOptions,
} from "../../src/transmit/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** A message as it was heard on the bus. */
export interface Heard {
  atMs: number;
  bus: number;
  pgn: number;
  src: number;
  dst: number;
  data: string;
}

/** Puts messages on loopback buses at once; a bus that is named in `down` takes nothing. */
export class PlainTransmit implements Transmit, AddressUser {
  readonly down = new Set<number>();
  /** What was taken, and whether it was urgent. */
  readonly taken: { message: OutgoingMessage; urgent: boolean }[] = [];
  /** Addresses that nothing may come from any more. */
  readonly lost: { bus: number; src: number }[] = [];
  readonly #buses: readonly LoopbackBus[];
  #sequence = 0;

  constructor(buses: readonly LoopbackBus[]) {
    this.#buses = buses;
  }

  send(messages: readonly OutgoingMessage[], { urgent = false }: { urgent?: boolean } = {}): Promise<void> {
    for (const message of messages) {
      const { bus, data } = message;
      if (this.down.has(bus)) return Promise.reject(new TransmitError("bus", "the bus is down"));
      this.taken.push({ message, urgent });
      const id = buildCanId(message);
      const frames = isFastPacket(message.pgn) ? splitFastPacket(data, this.#sequence++ & 7) : [data];
      for (const frame of frames) this.#buses[bus]!.inject(id, frame);
    }
    return Promise.resolve();
  }

  addressLost(bus: number, src: number): void {
    this.lost.push({ bus, src });
  }
}

/** Time between two looks of the device at what is due. */
const STEP_MS = 50;

/** A virtual device on loopback buses, and everything that is heard there. */
export class DeviceBench {
  readonly clock = new FakeClock();
  readonly buses: readonly LoopbackBus[];
  readonly transmit: PlainTransmit;
  readonly device: VirtualDevice;
  readonly heard: Heard[] = [];

  private constructor({ buses = 1, ...options }: BenchOptions) {
    this.buses = Array.from({ length: buses }, (_, i) => new LoopbackBus(`can${i}`, { clock: this.clock }));
    this.transmit = new PlainTransmit(this.buses);
    const parts = { buses: this.buses, transmit: this.transmit, clock: this.clock, log: silentLogger };
    this.device = new VirtualDevice({ ...parts, name: OWN_NAME, ...options });
  }

  /** A started device; its addresses are claimed when `ready` is left out or true. */
  static async start({ ready = true, ...options }: BenchOptions & { ready?: boolean } = {}): Promise<DeviceBench> {
    const bench = new DeviceBench(options);
    for (const [index, bus] of bench.buses.entries()) await bench.#open(bus, index);
    bench.device.start();
    if (ready) await bench.pass(1000);
    return bench;
  }

  async #open(bus: LoopbackBus, index: number): Promise<void> {
    const assembler = new Assembler((message) => this.#hear(message), { bus: index });
    const frame = (frame: Parameters<Assembler["push"]>[0]) => {
      this.device.heard(index, frame);
      assembler.push(frame);
    };
    await bus.open({ frame, state: () => {} });
  }

  #hear(message: Message): void {
    this.device.message(message);
    const { bus, pgn, id, data, offset, length } = message;
    const { src, dst } = parseCanId(id);
    const atMs = this.clock.monoMs();
    this.heard.push({ atMs, bus, pgn, src, dst, data: formatHex(data, { start: offset, length }) });
  }

  /** Lets time go by in steps. */
  async pass(ms: number, stepMs = STEP_MS): Promise<void> {
    await settle();
    for (let at = 0; at < ms; at += stepMs) {
      this.clock.advance(stepMs);
      this.device.tick();
      await settle();
    }
  }

  /** Another node says something; returns what is heard then and in the time after, without it. */
  async say(message: { pgn: number; src: number; dst?: number; data: Uint8Array; bus?: number }, ms = STEP_MS) {
    const { pgn, src, dst = 255, data, bus = 0 } = message;
    const from = this.heard.length;
    this.buses[bus]!.inject(buildCanId({ pgn, src, dst, prio: 6 }), data);
    await this.pass(ms);
    return this.heard.slice(from + 1);
  }

  /** Another node claims an address. */
  claim(name: bigint, src: number, { bus = 0, ms = STEP_MS }: { bus?: number; ms?: number } = {}): Promise<Heard[]> {
    return this.say({ pgn: 60928, src, data: nameBytes(name), bus }, ms);
  }

  /** Another node asks for a PGN. */
  ask(pgn: number, { src = 10, dst = 255 }: { src?: number; dst?: number } = {}): Promise<Heard[]> {
    return this.say({ pgn: 59904, src, dst, data: Uint8Array.of(pgn & 255, (pgn >> 8) & 255, pgn >> 16) });
  }

  [Symbol.dispose](): void {
    this.device.stop();
  }
}

/** What a test says of the device; `buses` is their number. */
export type BenchOptions =
  & { buses?: number }
  & Partial<Omit<VirtualDeviceOptions, "buses" | "transmit" | "clock" | "log">>;

/** NAME of the device under test, unless it says otherwise. */
export const OWN_NAME = 0xc0328200ffc00123n;

/** Payload of an address claim. */
export function nameBytes(name: bigint): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(NAME_BYTES);
  new DataView(data.buffer).setBigUint64(0, name, true);
  return data;
}

/** Loopback buses deliver in microtasks, and what is answered then takes some more. */
async function settle(): Promise<void> {
  for (let i = 0; i < 24; i++) await null;
}
