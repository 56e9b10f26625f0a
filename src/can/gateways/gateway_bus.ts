import { backoffMs, type BackoffOptions, type Clock, pause, systemClock } from "../../base/mod.ts";
import { CAN_ID_MASK } from "../../frame/mod.ts";
import { type BusCounters, BusError, type BusSink, type BusState, type CanBus, newCounters } from "../bus.ts";
import { BusStatus } from "../bus_status.ts";
import type { RecordingFormat } from "../recordings/mod.ts";
import { type SendLimits, type SendOutcome, SendQueue } from "../send_queue.ts";
import { Delivery, GatewayConnection } from "./connection.ts";
import { type Link, type OpenLink, reasonOf } from "./link.ts";

/** Delays between attempts to connect. */
export const DEFAULT_RECONNECT: BackoffOptions = { firstMs: 1000, capMs: 30_000 };
/** Random part of a delay, so that not all clients reconnect at once. */
const JITTER = 0.25;

/** Options of a {@linkcode GatewayBus}. */
export interface GatewayBusOptions extends SendLimits {
  /** Opens the connection to the gateway. */
  openLink: OpenLink;
  /** Format of both directions; undefined: detected from the received data, and nothing can be sent until then. */
  format?: RecordingFormat | undefined;
  /** Name of the bus to use, if the lines name several; default: the first one. */
  bus?: string | undefined;
  /** Silence after which the bus reconnects, milliseconds; default 0: never. */
  silenceMs?: number;
  /** Whether `open` fails when the gateway is missing, as for a local serial device; default false. */
  mustExist?: boolean;
  /** Default {@linkcode DEFAULT_RECONNECT}. */
  reconnect?: BackoffOptions;
  /** Default: the system's. */
  clock?: Clock;
  /** Returns a number from 0 to 1, without 1; default `Math.random`. */
  random?: () => number;
}

/**
 * A bus that is reached through a gateway. Its state is `missing` when the gateway cannot be reached, closes the connection or is silent too
 * long, and the bus reconnects by itself. It is `down` while the format is unknown or the data is unreadable.
 *
 * Some gateways transfer complete messages: those that fit one frame are delivered as that frame, the others through
 * the sink's `message`; for sending, frames are reassembled to messages first. Gateways have an address of their own on
 * the bus, by which Actisense's and Digital Yacht's replace the source of sent messages.
 */
export class GatewayBus implements CanBus {
  readonly name: string;
  readonly counters: BusCounters = newCounters();
  readonly #options: GatewayBusOptions;
  readonly #clock: Clock;
  readonly #status = new BusStatus();
  readonly #delivery: Delivery;
  readonly #queue: SendQueue;
  #opened: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #connection: GatewayConnection | undefined;
  #isDoubtful = false;

  /**
   * @param name name of the bus
   * @param options see {@linkcode GatewayBusOptions}
   */
  constructor(name: string, options: GatewayBusOptions) {
    this.name = name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const parts = { clock: this.#clock, counters: this.counters, status: this.#status };
    this.#delivery = new Delivery(parts);
    this.#queue = new SendQueue(name, { ...options, ...parts, trySend: (id, data) => this.#trySend(id, data) });
  }

  get state(): BusState {
    return this.#status.state;
  }

  /**
   * Resolves when the first attempt to connect has succeeded or failed. A missing gateway is not an error: it may be
   * switched on together with this machine and start more slowly.
   *
   * @throws {BusError} `mustExist` is set and the gateway is missing
   */
  async open(sink: BusSink): Promise<void> {
    if (this.#opened) throw new BusError(`Cannot open bus "${this.name}": it is open`);
    const opened = this.#opened = new AbortController();
    Object.assign(this.counters, newCounters());
    this.#isDoubtful = false;
    this.#status.attach(sink);
    this.#delivery.attach(sink);
    const first = await this.#openLink(opened.signal);
    if (opened.signal.aborted) return first.link?.close();
    if (!first.link && this.#options.mustExist) {
      this.#opened = undefined;
      throw new BusError(`Cannot open bus "${this.name}": ${first.why}`);
    }
    this.#running = this.#run(opened.signal, first);
  }

  send(id: number, data: Uint8Array): Promise<void> {
    return this.#queue.push(id & CAN_ID_MASK, data);
  }

  async close(): Promise<void> {
    if (this.#opened) {
      this.#opened.abort();
      this.#opened = undefined;
      this.#delivery.attach(undefined);
      this.#queue.clear("it is closed");
      this.#status.closed();
      this.#connection?.end("it is closed");
    }
    await this.#running;
  }

  /** Keeps a connection as long as the bus is open. */
  async #run(signal: AbortSignal, first: OpenedLink): Promise<void> {
    let failures = 0;
    for (let opened = first; !signal.aborted; opened = await this.#openLink(signal)) {
      if (opened.link) failures = await this.#serve(opened.link, signal) ? 0 : failures;
      else this.#status.missing(opened.why);
      failures++;
      await this.#waitToReconnect(failures, signal);
    }
  }

  async #openLink(signal: AbortSignal): Promise<OpenedLink> {
    try {
      const link = await this.#options.openLink(signal);
      if (!signal.aborted) return { link };
      link.close();
      return { why: "it is closed" };
    } catch (error) {
      return { why: reasonOf(error) };
    }
  }

  /** Runs one connection until its end. Returns whether anything was received from the bus. */
  async #serve(link: Link, signal: AbortSignal): Promise<boolean> {
    const { format, bus, silenceMs = 0 } = this.#options;
    const connection = new GatewayConnection({
      ...{ link, format, bus, silenceMs },
      ...{ isDoubtful: this.#isDoubtful, delivery: this.#delivery, counters: this.counters, clock: this.#clock },
      onReady: () => this.#status.up(),
    });
    this.#connection = connection;
    const running = connection.run();
    if (!connection.isReady && !this.#isDoubtful) this.#status.down("connected; the format is not detected yet");
    const { type, why, hasReceived } = await running;
    this.#connection = undefined;
    if (signal.aborted) return hasReceived;
    this.#queue.clear("the connection is lost");
    this.#isDoubtful = type === "unreadable";
    if (this.#isDoubtful) this.#status.down(why);
    else this.#status.missing(why);
    return hasReceived;
  }

  async #waitToReconnect(failures: number, signal: AbortSignal): Promise<void> {
    const { reconnect = DEFAULT_RECONNECT, random = Math.random } = this.#options;
    const delayMs = backoffMs(failures, reconnect) * (1 - JITTER * random());
    await pause(delayMs, signal).catch(() => {});
  }

  #trySend(id: number, data: Uint8Array): SendOutcome {
    if (!this.#connection) return { type: "failed", message: `it is ${this.state.type}` };
    return this.#connection.offer(id, data);
  }
}

/** A link, or why there is none. */
type OpenedLink = { link: Link; why?: undefined } | { link?: undefined; why: string };
