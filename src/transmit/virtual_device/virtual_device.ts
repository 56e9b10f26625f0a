import type { Clock, Logger } from "../../base/mod.ts";
import {
  BROADCAST_ADDRESS,
  type CanFrame,
  destinationOfId,
  type Message,
  NAME_BYTES,
  nameFromBytes,
} from "../../frame/mod.ts";
import { COMMANDED_ADDRESS, type OwnIdentity } from "./own_answers.ts";
import { VirtualDeviceBus, type VirtualDeviceCounters } from "./bus.ts";
import type { AddressUser, FrameListener, OwnAddress, Transmit } from "../transmit.ts";

/** Interval of ticks. */
const TICK_MS = 50;
/** Length of a commanded address: NAME and address. */
const COMMAND_BYTES = NAME_BYTES + 1;

/** Default options of a virtual device. */
export const VIRTUAL_DEVICE_DEFAULTS = {
  claimHeartbeatMs: 60_000,
  productInfoHeartbeatMs: 5 * 60_000,
  /** About a twentieth of the bus capacity: five product information messages. */
  answerFramesPerSecond: 100,
  maxInboundSessions: 16,
} as const;

/** Options of {@linkcode VirtualDevice}. */
export interface VirtualDeviceOptions extends OwnIdentity {
  /** The buses in the order of their indexes. It claims an address on each. */
  buses: readonly { readonly name: string }[];
  /** Sends its messages. */
  transmit: Transmit & AddressUser;
  /** Time source of all timeouts. */
  clock: Clock;
  /** Receives address changes. */
  log: Logger;
  /** 64-bit NAME, see `composeName`. The lower of two wins a contested address. */
  name: bigint;
  /** Interval of repeated claims, milliseconds; 0: never. Default 60 s. */
  claimHeartbeatMs?: number;
  /** Interval of product information, milliseconds; 0: never. Default 5 minutes. */
  productInfoHeartbeatMs?: number;
  /** Maximum rate of answers on one bus, CAN frames a second; 0: no limit. Default 100. */
  answerFramesPerSecond?: number;
  /** Maximum concurrent inbound transport sessions (RTS/CTS) on one bus. Default 16. */
  maxInboundSessions?: number;
}

/**
 * The server's own device on every bus: claims and defends an address (252 downwards), answers the requests that every
 * NMEA 2000 device must answer, accepts a commanded address, and receives transport sessions.
 */
export class VirtualDevice implements FrameListener {
  readonly #buses: readonly VirtualDeviceBus[];
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @throws {EncodeError} a text of the identity is too long */
  constructor({ buses, transmit, clock, log, name, ...options }: VirtualDeviceOptions) {
    const limits = { ...VIRTUAL_DEVICE_DEFAULTS, ...options };
    this.#buses = buses.map(({ name: busName }, bus) =>
      new VirtualDeviceBus({ bus, busName, name, transmit, clock, log, identity: options, ...limits })
    );
  }

  /** Starts claiming. The buses must be open. */
  start(): void {
    for (const bus of this.#buses) bus.up();
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** A bus has come up again: the claim is repeated. */
  up(bus: number): void {
    if (this.#timer !== undefined) this.#buses[bus]?.up();
  }

  /** Stops sending. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Runs everything that is due. After {@linkcode VirtualDevice.start} a timer calls it. */
  tick(): void {
    for (const bus of this.#buses) bus.tick();
  }

  /** State of the address on a bus. */
  address(bus: number): OwnAddress {
    return this.#buses[bus]?.address ?? { kind: "none" };
  }

  /** Totals of a bus. */
  counters(bus: number): Readonly<VirtualDeviceCounters> | undefined {
    return this.#buses[bus]?.counters;
  }

  heard(bus: number, frame: CanFrame): void {
    if (this.#timer !== undefined) this.#buses[bus]?.heard(frame);
  }

  /** Processes a reassembled message: a commanded address has more than one frame. Other PGNs are ignored. */
  message({ bus, pgn, id, data, offset, length }: Message): void {
    if (pgn !== COMMANDED_ADDRESS || length < COMMAND_BYTES || this.#timer === undefined) return;
    const dst = destinationOfId(id);
    const own = this.address(bus);
    if (dst !== BROADCAST_ADDRESS && !(own.kind === "claimed" && own.src === dst)) return;
    const address = data[offset + NAME_BYTES] ?? BROADCAST_ADDRESS;
    this.#buses[bus]?.commanded({ name: nameFromBytes(data, offset), address });
  }
}
