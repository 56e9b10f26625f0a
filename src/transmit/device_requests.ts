import type { Clock, Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { newStoredFrame } from "../frame/mod.ts";
import type { RequestRule } from "./request_rules.ts";
import { type DeviceRequest, RequestEngine } from "./request_rules_engine.ts";
import type { Transmit } from "./transmit.ts";

/** How often due requests are looked for. */
const TICK_MS = 100;

/** Running totals of what was asked by rules. */
export interface DeviceRequestCounters {
  sent: number;
  failed: number;
  /** Data that came after they were asked for. */
  answered: number;
  /** Answers that say no. */
  refused: number;
}

/** What requests by rules are wired to. */
export interface DeviceRequestOptions {
  rules: readonly RequestRule[];
  /** Shortest time between two requests of any rules, milliseconds; 0: none. Default 100 ms. */
  globalMinIntervalMs?: number;
  broker: Broker;
  transmit: Transmit;
  /** Address to ask from on a bus (254: the null address); undefined while it cannot be asked there. */
  sourceOn: (bus: number) => number | undefined;
  clock: Clock;
  log: Logger;
}

/** Asks devices for what the rules want, until stopped. */
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

  /** Data that are wanted of devices which are there, and have not come yet. */
  get pending(): number {
    return this.#engine.pending;
  }

  /** Begins to ask. */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  /** Asks no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#stopListening();
    this.#unsubscribe();
  }

  /** Hears what the rules go by, each message when it is published; all others cost a look at their PGN. */
  #subscribe(): () => void {
    const { broker, clock } = this.#options;
    const { watched } = this.#engine;
    if (watched.size === 0) return () => {};
    const frame = newStoredFrame();
    const hear = (seq: number) => {
      if (broker.ring.read(seq, frame)) this.#engine.heard(frame, clock.monoMs());
    };
    const subscription = broker.subscribe({
      capacity: 1,
      accept: (_bus, _src, pgn) => watched.has(pgn),
      wake: () => subscription.drain(hear),
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
