import type { Clock, Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import type { CanBus } from "../can/mod.ts";
import { buildCanId, NULL_ADDRESS } from "../frame/mod.ts";
import { isoRequestPayload, PGN } from "../pgn/mod.ts";
import { Discovery, type IdentityRequest } from "./discovery.ts";

/** How often due requests are looked for. */
const TICK_MS = 100;
/** Priority of an ISO request (ISO 11783-3 §5.4.2). */
const REQUEST_PRIORITY = 6;

/** Running totals of identity requests. */
export interface IdentityCounters {
  sent: number;
  failed: number;
}

/** What identity requests are wired to. */
export interface IdentityOptions {
  broker: Broker;
  /** In the order of the broker's bus indexes. */
  buses: readonly CanBus[];
  clock: Clock;
  log: Logger;
}

/** Sends what {@linkcode Discovery} asks for, from the null address, until stopped. */
export class IdentityRequests {
  readonly counters: IdentityCounters = { sent: 0, failed: 0 };
  readonly #options: IdentityOptions;
  readonly #discovery: Discovery;
  readonly #stopListening: () => void;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: IdentityOptions) {
    this.#options = options;
    this.#discovery = new Discovery(options.buses.length);
    this.#stopListening = options.broker.registry.listen(({ event, device }) => {
      const nowMs = options.clock.monoMs();
      if (event === "removed") this.#discovery.gone(device, nowMs);
      else this.#discovery.known(device, nowMs);
    });
  }

  /** Begins to ask; the buses are open by now. */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  /** Addresses that still owe an answer. */
  get pending(): number {
    return this.#discovery.pending;
  }

  /** Asks everybody on a bus who they are. */
  askAll(bus: number): void {
    this.#discovery.askAll(bus);
  }

  /** Sends no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#stopListening();
  }

  #tick(): void {
    const { buses, clock } = this.#options;
    const canAsk = (bus: number) => buses[bus]?.state.type === "up" && buses[bus]?.canSend !== false;
    for (const request of this.#discovery.due(clock.monoMs(), canAsk)) {
      const bus = buses[request.bus];
      if (bus) this.#send(bus, request);
    }
  }

  #send(bus: CanBus, request: IdentityRequest): void {
    const { dst, pgn } = request;
    const id = buildCanId({ prio: REQUEST_PRIORITY, pgn: PGN.isoRequest, src: NULL_ADDRESS, dst });
    bus.send(id, isoRequestPayload(pgn)).then(
      () => this.counters.sent++,
      (error: unknown) => {
        this.counters.failed++;
        this.#discovery.notSent(request);
        this.#options.log.debug("identity request not sent", { bus: bus.name, dst, pgn, error: String(error) });
      },
    );
  }
}
