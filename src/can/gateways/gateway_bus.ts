import { backoffMs, type BackoffOptions, type Clock, systemClock } from "../../base/mod.ts";
import { CAN_ID_MASK, MAX_CAN_BYTES } from "../../frame/mod.ts";
import { type BusCounters, BusError, type BusSink, type BusState, type CanBus, newCounters } from "../bus.ts";
import { BusStatus } from "../bus_status.ts";
import type { RecordingFormat } from "../recordings/mod.ts";
import { type SendLimits, type SendOutcome, SendQueue } from "../send_queue.ts";
import { GatewayConnection } from "./connection.ts";
import { Delivery } from "./delivery.ts";
import { type Link, type OpenLink, reasonOf } from "./link.ts";

/** Waits before a gateway is tried again. */
export const DEFAULT_RECONNECT: BackoffOptions = { firstMs: 1000, capMs: 30_000 };
/** Part of a wait that chance may take off, so that not all who lost a gateway come back at once. */
const JITTER = 0.25;

/** Options of a {@linkcode GatewayBus}. */
export interface GatewayBusOptions extends SendLimits {
  /** The way to the gateway. */
  openLink: OpenLink;
  /** Format of both directions; undefined: it shows with what comes, and until then nothing can be sent. */
  format?: RecordingFormat | undefined;
  /** The one bus to take of those that the lines name; default the first. */
  bus?: string | undefined;
  /** Silence after which the connection is made anew, milliseconds; default 0: never. */
  silenceMs?: number;
  /** Whether `open` fails when the gateway is not there, as for a device of this machine; default false. */
  mustExist?: boolean;
  /** Default {@linkcode DEFAULT_RECONNECT}. */
  reconnect?: BackoffOptions;
  /** Default the machine's. */
  clock?: Clock;
  /** From 0 up to but without 1; default `Math.random`. */
  random?: () => number;
}

/**
 * A bus behind a gateway. A gateway that cannot be reached, ends the connection or is silent for too long is `missing`,
 * and tried again by itself; one that cannot be understood is `down`, and so is one whose format has not shown yet.
 *
 * Some gateways give and take whole messages: those that fit one frame are delivered as that frame, the others through
 * the sink's `message`; and what is sent is put together from its frames first. Gateways have an address of their own on
 * the bus, which Actisense's and Digital Yacht's put in place of the source of what is sent.
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
   * @param name what the bus is called
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
   * Resolves when the first connection is made or has failed. A gateway that is not there is no error: it is switched on
   * together with this machine, and may be slower.
   *
   * @throws {BusError} the gateway must exist, and does not
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

  /** Connects and serves, for as long as the bus is open. */
  async #run(signal: AbortSignal, first: OpenedLink): Promise<void> {
    let failures = 0;
    for (let opened = first; !signal.aborted; opened = await this.#openLink(signal)) {
      if (opened.link) failures = await this.#serve(opened.link, signal) ? 0 : failures;
      else this.#status.missing(opened.why);
      failures++;
      await this.#rest(failures, signal);
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

  /** One connection from its beginning to its end. Returns whether anything of a bus was heard. */
  async #serve(link: Link, signal: AbortSignal): Promise<boolean> {
    const { format, bus, silenceMs = 0 } = this.#options;
    const connection = new GatewayConnection({
      ...{ link, format, bus, silenceMs },
      ...{ isDoubtful: this.#isDoubtful, delivery: this.#delivery, counters: this.counters, clock: this.#clock },
      onReady: () => this.#status.up(),
    });
    this.#connection = connection;
    const running = connection.run();
    if (!connection.isReady && !this.#isDoubtful) this.#status.down("connected; its format shows with what comes");
    const { type, why, wasHeard } = await running;
    this.#connection = undefined;
    if (signal.aborted) return wasHeard;
    this.#queue.clear("the connection is lost");
    this.#isDoubtful = type === "unreadable";
    if (this.#isDoubtful) this.#status.down(why);
    else this.#status.missing(why);
    return wasHeard;
  }

  async #rest(failures: number, signal: AbortSignal): Promise<void> {
    const { reconnect = DEFAULT_RECONNECT, random = Math.random } = this.#options;
    const delayMs = backoffMs(failures, reconnect) * (1 - JITTER * random());
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, delayMs);
      signal.addEventListener("abort", done);
    });
  }

  #trySend(id: number, data: Uint8Array): SendOutcome {
    if (data.length > MAX_CAN_BYTES) return { type: "failed", message: `${data.length} bytes are more than 8` };
    if (!this.#connection) return { type: "failed", message: `it is ${this.state.type}` };
    return this.#connection.offer(id, data);
  }
}

/** A link, or why there is none. */
type OpenedLink = { link: Link; why?: undefined } | { link?: undefined; why: string };
