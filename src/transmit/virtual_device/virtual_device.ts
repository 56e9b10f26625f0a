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

/** How often it looks for what is due. */
const TICK_MS = 50;
/** Bytes of a commanded address: a NAME and the address. */
const COMMAND_BYTES = NAME_BYTES + 1;

/** What a virtual device does when nothing else is said. */
export const VIRTUAL_DEVICE_DEFAULTS = {
  claimHeartbeatMs: 60_000,
  productInfoHeartbeatMs: 5 * 60_000,
  /** About a twentieth of a full bus: five product informations. */
  answerFramesPerSecond: 100,
  maxInboundSessions: 16,
} as const;

/** How a virtual device is made. */
export interface VirtualDeviceOptions extends OwnIdentity {
  /** The buses, in the order of their indexes. It claims an address on each. */
  buses: readonly { readonly name: string }[];
  /** Where messages go. */
  transmit: Transmit & AddressUser;
  /** What timeouts go by. */
  clock: Clock;
  /** Gets what happens to its addresses. */
  log: Logger;
  /** 64-bit NAME, see `composeName`. The lower of two wins a contested address. */
  name: bigint;
  /** How often the claim is repeated, milliseconds; 0: never. Default 60 s. */
  claimHeartbeatMs?: number;
  /** How often product information is repeated, milliseconds; 0: never. Default 5 minutes. */
  productInfoHeartbeatMs?: number;
  /** Most CAN frames a second that answers to requests take on one bus; 0: no limit. Default 100. */
  answerFramesPerSecond?: number;
  /** Nodes on one bus that may send us a long message at once (RTS/CTS). Default 16. */
  maxInboundSessions?: number;
}

/**
 * A device of our own on every bus: claims an address (252 downwards) and defends it, answers the requests that every
 * NMEA 2000 device must answer, takes a commanded address, and takes part when somebody sends it a long message.
 */
export class VirtualDevice implements FrameListener {
  readonly #buses: readonly VirtualDeviceBus[];
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @throws {EncodeError} something that it says of itself is too long */
  constructor({ buses, transmit, clock, log, name, ...options }: VirtualDeviceOptions) {
    const limits = { ...VIRTUAL_DEVICE_DEFAULTS, ...options };
    this.#buses = buses.map(({ name: busName }, bus) =>
      new VirtualDeviceBus({ bus, busName, name, transmit, clock, log, identity: options, ...limits })
    );
  }

  /** Begins to claim; the buses are open by now. */
  start(): void {
    for (const bus of this.#buses) bus.up();
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** A bus has come up again: nobody there has heard our claim. */
  up(bus: number): void {
    if (this.#timer !== undefined) this.#buses[bus]?.up();
  }

  /** Says no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Does what is due. Called by itself from {@linkcode VirtualDevice.start} on. */
  tick(): void {
    for (const bus of this.#buses) bus.tick();
  }

  /** Whether we may speak on a bus, and from which address. */
  address(bus: number): OwnAddress {
    return this.#buses[bus]?.address ?? { kind: "none" };
  }

  /** Running totals of a bus. */
  counters(bus: number): Readonly<VirtualDeviceCounters> | undefined {
    return this.#buses[bus]?.counters;
  }

  heard(bus: number, frame: CanFrame): void {
    if (this.#timer !== undefined) this.#buses[bus]?.heard(frame);
  }

  /** Takes a whole message: a commanded address comes in more than one frame. All others are passed over. */
  message({ bus, pgn, id, data, offset, length }: Message): void {
    if (pgn !== COMMANDED_ADDRESS || length < COMMAND_BYTES || this.#timer === undefined) return;
    const dst = destinationOfId(id);
    const own = this.address(bus);
    if (dst !== BROADCAST_ADDRESS && !(own.kind === "claimed" && own.src === dst)) return;
    const address = data[offset + NAME_BYTES] ?? BROADCAST_ADDRESS;
    this.#buses[bus]?.commanded({ name: nameFromBytes(data, offset), address });
  }
}
