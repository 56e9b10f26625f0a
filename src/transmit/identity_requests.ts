import type { Clock, Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import type { CanBus } from "../can/mod.ts";
import { buildCanId, NULL_ADDRESS } from "../frame/mod.ts";
import { isoRequestPayload, PGN } from "../pgn/mod.ts";
import { Discovery, type IdentityRequest } from "./discovery.ts";
import type { OwnAddress } from "./transmit.ts";

/** Interval of checks for due requests. */
const TICK_MS = 100;
/** Priority of an ISO request (ISO 11783-3 §5.4.2). */
const REQUEST_PRIORITY = 6;

/** Totals of identity requests since the start. */
export interface IdentityCounters {
  sent: number;
  failed: number;
}

/** Options of {@linkcode IdentityRequests}. */
export interface IdentityOptions {
  broker: Broker;
  /** In the order of the broker's bus indexes. */
  buses: readonly CanBus[];
  /** Address of the virtual device; default: there is none. */
  address?: (bus: number) => OwnAddress;
  clock: Clock;
  log: Logger;
}

/** Sends the requests of {@linkcode Discovery} until stopped: from the virtual device's address, else the null address. */
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

  /** Starts sending requests. The buses must be open. */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  /** Number of present addresses not fully identified yet. */
  get pending(): number {
    return this.#discovery.pending;
  }

  /** Requests address claims from all devices on a bus. */
  askAll(bus: number): void {
    this.#discovery.askAll(bus);
  }

  /** Stops sending requests. */
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
    const own = this.#options.address?.(request.bus);
    const src = own?.kind === "claimed" ? own.src : NULL_ADDRESS;
    const id = buildCanId({ prio: REQUEST_PRIORITY, pgn: PGN.isoRequest, src, dst });
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
