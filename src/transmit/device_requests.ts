import type { Clock, Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { newStoredFrame } from "../frame/mod.ts";
import type { RequestRule } from "./request_rules.ts";
import { type DeviceRequest, RequestEngine } from "./request_rules_engine.ts";
import type { Transmit } from "./transmit.ts";

/** Interval of checks for due requests. */
const TICK_MS = 100;

/** Totals of device requests since the start. */
export interface DeviceRequestCounters {
  sent: number;
  failed: number;
  /** Requested data that were received. */
  answered: number;
  /** Negative acknowledgements. */
  refused: number;
}

/** Options of {@linkcode DeviceRequests}. */
export interface DeviceRequestOptions {
  rules: readonly RequestRule[];
  /** Minimum interval of requests over all rules, milliseconds; 0: none. Default 100 ms. */
  globalMinIntervalMs?: number;
  broker: Broker;
  transmit: Transmit;
  /** Source address on a bus (254: null address); undefined while requests cannot be sent there. */
  sourceOn: (bus: number) => number | undefined;
  clock: Clock;
  log: Logger;
}

/** Requests data from devices by rules, until stopped. */
export class DeviceRequests {
  readonly #options: DeviceRequestOptions;
  readonly #engine: RequestEngine;
  readonly #totals = { sent: 0, failed: 0 };
  readonly #stopListening: () => void;
  readonly #unsubscribe: () => void;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: DeviceRequestOptions) {
    const { broker, clock } = options;
    const engine = new RequestEngine({ ...options, buses: broker.buses });
    this.#options = options;
    this.#engine = engine;
    for (const device of broker.registry) engine.known(device, clock.monoMs());
    this.#stopListening = broker.registry.listen(({ event, device }) => {
      if (event === "removed") engine.gone(device, clock.monoMs());
      else engine.known(device, clock.monoMs());
    });
    this.#unsubscribe = this.#subscribe();
  }

  get counters(): DeviceRequestCounters {
    return { ...this.#totals, ...this.#engine.counters };
  }

  /** Missing data of present devices. */
  get pending(): number {
    return this.#engine.pending;
  }

  /** Starts sending requests. */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  /** Stops sending requests. */
  stop(): void {
    clearInterval(this.#timer);
    this.#stopListening();
    this.#unsubscribe();
  }

  /** Subscribes to the PGNs of the rules. Other messages cost only a check of their PGN. */
  #subscribe(): () => void {
    const { broker, clock } = this.#options;
    const { watched } = this.#engine;
    if (watched.size === 0) return () => {};
    const frame = newStoredFrame();
    const onMessage = (seq: number) => {
      if (broker.ring.read(seq, frame)) this.#engine.received(frame, clock.monoMs());
    };
    const subscription = broker.subscribe({
      capacity: 1,
      accept: (_bus, _src, pgn) => watched.has(pgn),
      wake: () => subscription.drain(onMessage),
    });
    return () => broker.unsubscribe(subscription);
  }

  #tick(): void {
    const { clock, sourceOn } = this.#options;
    for (const request of this.#engine.due(clock.monoMs(), sourceOn)) void this.#send(request);
  }

  async #send(request: DeviceRequest): Promise<void> {
    const { transmit, clock, log, broker } = this.#options;
    const { rule, want, bus, dst } = request;
    try {
      await transmit.send([request]);
      this.#totals.sent++;
      this.#engine.sent(request, clock.monoMs());
    } catch (error) {
      this.#totals.failed++;
      this.#engine.notSent(request, clock.monoMs());
      log.debug("request not sent", { rule, want, bus: broker.buses[bus], dst, error: String(error) });
    }
  }
}
