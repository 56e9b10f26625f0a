import type { Clock, Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import type { CanBus } from "../can/mod.ts";
import { type CanFrame, type Message, NULL_ADDRESS } from "../frame/mod.ts";
import {
  DeviceRequests,
  faultOf,
  IdentityRequests,
  type OwnAddress,
  Queries,
  type RequestRule,
  SendGate,
  type SendSettings,
  type TransmitLimits,
  Transmitter,
  VirtualDevice,
  type VirtualDeviceOptions,
} from "../transmit/mod.ts";

/** Identity and limits of the virtual device. */
export type VirtualDeviceSettings = Omit<VirtualDeviceOptions, "buses" | "transmit" | "clock" | "log">;

/** Options of transmitting to the buses. */
export interface BoatTransmitOptions {
  /** Request address claims and product information from devices; default true. */
  discovery?: boolean;
  /** Limits of the transmit queue. */
  transmit?: Partial<TransmitLimits>;
  /** Claims an address on every bus and sends from it; default none: clients' messages have the source 254. */
  virtualDevice?: VirtualDeviceSettings;
  /** Requests that the server sends by itself. */
  requests?: readonly RequestRule[];
  /** Shortest time between two requests of any rules, milliseconds. */
  requestsGlobalMinIntervalMs?: number;
}

/** Dependencies of the transmit path. */
export interface TransmitContext {
  broker: Broker;
  buses: readonly CanBus[];
  sending: () => SendSettings;
  clock: Clock;
  log: Logger;
}

/** The transmit path: everything that the server sends goes through one transmitter. */
export class BoatTransmit {
  readonly transmitter: Transmitter;
  readonly gate: SendGate;
  readonly queries: Queries;
  readonly device: VirtualDevice | undefined;
  readonly requests: DeviceRequests | undefined;
  /** Started and stopped by the caller. */
  readonly identity: IdentityRequests | undefined;
  readonly #buses: readonly string[];
  readonly #log: Logger;
  #faults = 0;

  constructor(options: BoatTransmitOptions, { broker, buses, sending, clock, log }: TransmitContext) {
    const { virtualDevice, requests: rules = [], requestsGlobalMinIntervalMs: globalMinIntervalMs } = options;
    const { discovery = true } = options;
    this.#buses = broker.buses;
    this.#log = log;
    const transmit = this.transmitter = new Transmitter({ buses, clock, ...options.transmit });
    this.device = virtualDevice && new VirtualDevice({ buses, transmit, clock, log, ...virtualDevice });
    const address = (bus: number) => this.ownAddress(bus);
    const nameOf = (bus: number, src: number) => broker.registry.get(bus, src)?.name;
    const faultOn = (bus: number) => buses[bus] && faultOf(buses[bus]);
    const gate = { transmit, address, nameOf, buses: broker.buses, faultOf: faultOn, settings: sending, clock, log };
    this.gate = new SendGate(gate);
    this.queries = new Queries({ broker, gate: this.gate, address });
    this.identity = discovery ? new IdentityRequests({ broker, buses, address, clock, log }) : undefined;
    if (rules.length === 0) return;
    this.requests = new DeviceRequests({
      rules,
      ...(globalMinIntervalMs !== undefined && { globalMinIntervalMs }),
      broker,
      transmit,
      sourceOn: (bus) => buses[bus]?.state.type === "up" ? sourceOf(address(bus)) : undefined,
      clock,
      log,
    });
  }

  /** Claims addresses and starts the requests; call it after the buses are open. */
  start(): void {
    this.device?.start();
    this.requests?.start();
  }

  /** Address of the virtual device on a bus. */
  ownAddress(bus: number): OwnAddress {
    return this.device?.address(bus) ?? { kind: "none" };
  }

  /** Processes a frame of a bus, echoes of our own included. Errors are counted and do not affect reading. */
  received(bus: number, frame: CanFrame): void {
    try {
      this.transmitter.heard(bus, frame);
      this.device?.heard(bus, frame);
    } catch (error) {
      if (this.#faults++ === 0) {
        this.#log.error("frame not processed by the transmit path", { error: String(error) });
      }
    }
  }

  /** Processes a complete message. */
  message(message: Message): void {
    this.device?.message(message);
  }

  /** Claims an address again on a bus that recovered. */
  up(bus: number): void {
    this.device?.up(bus);
  }

  /** Health of the virtual device; empty without one. */
  health(): Record<string, { status: "ok" | "degraded"; message?: string }> {
    if (!this.device) return {};
    const without = this.#buses.filter((_, bus) => this.device?.address(bus).kind === "cannot-claim");
    if (without.length === 0) return { virtual_device: { status: "ok" } };
    return { virtual_device: { status: "degraded", message: `no free address on ${without.join(", ")}` } };
  }

  /** Stops transmitting. */
  stop(): void {
    this.requests?.stop();
    this.device?.stop();
    this.transmitter.close();
    this.queries.stop();
  }
}

/** Source address of our requests; undefined while none may be sent. */
function sourceOf(own: OwnAddress): number | undefined {
  if (own.kind === "none") return NULL_ADDRESS;
  return own.kind === "claimed" ? own.src : undefined;
}
