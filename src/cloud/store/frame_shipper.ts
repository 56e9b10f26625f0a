import { type Clock, errorText, type Logger } from "../../base/mod.ts";

/** A boat whose frames go to the store. */
export interface Shipped {
  readonly id: string;
  /** False: all of its files are closed. */
  readonly isOpen: boolean;
  /** Stores the frames of its files. @throws {Error} some are not stored: try again later */
  ship(signal: AbortSignal): Promise<void>;
}

/** Whether the store answers. */
export type ShipperState =
  | { kind: "ok" }
  /** `sinceMs`: of the first failure, milliseconds since 1970. */
  | { kind: "failing"; reason: string; sinceMs: number };

/** Options of a {@linkcode FrameShipper}. */
export interface FrameShipperOptions {
  boats: Iterable<Shipped>;
  /** Time from one storing to the next for each boat, milliseconds. */
  intervalMs: number;
  clock: Clock;
  log: Logger;
}

/** Boats whose frames are stored at the same time: a request mostly waits for the store's disks. */
const BOATS_AT_ONCE = 16;
/** After a failure no boat is tried for this time, milliseconds. */
const RETRY_MS = 5000;

/**
 * Stores the frames of all open boats, each at its interval. The boats are spread over the interval. While the store does
 * not answer, frames stay in the boats' directories.
 */
export class FrameShipper {
  readonly #options: FrameShipperOptions;
  readonly #stop = new AbortController();
  /** When each boat is due, monotonic milliseconds. */
  readonly #dueMs = new WeakMap<Shipped, number>();
  readonly #working = new Map<Shipped, Promise<void>>();
  #state: ShipperState = { kind: "ok" };
  #retryMs = -Infinity;

  constructor(options: FrameShipperOptions) {
    this.#options = options;
  }

  get state(): ShipperState {
    return this.#state;
  }

  /** Begins what is due. Must be called about once a second. */
  runHousekeeping(): void {
    const { boats, intervalMs, clock } = this.#options;
    const nowMs = clock.monoMs();
    if (nowMs < this.#retryMs) return;
    for (const boat of boats) {
      if (this.#working.size >= BOATS_AT_ONCE) return;
      if (!boat.isOpen || this.#working.has(boat)) continue;
      const dueMs = this.#dueMs.get(boat) ?? nowMs + phaseOf(boat.id) * intervalMs;
      this.#dueMs.set(boat, dueMs);
      if (nowMs < dueMs) continue;
      this.#dueMs.set(boat, nowMs + intervalMs);
      this.#working.set(boat, this.#ship(boat).finally(() => this.#working.delete(boat)));
    }
  }

  /** Ends requests that are under way; what they did not store stays in the boats' directories. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#working.values());
  }

  /** Never rejects. */
  async #ship(boat: Shipped): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await boat.ship(this.#stop.signal);
      if (this.#state.kind === "ok") return;
      log.info("object store answers again", { failingMs: Math.floor(clock.wallUs() / 1000) - this.#state.sinceMs });
      this.#state = { kind: "ok" };
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const reason = errorText(error);
      if (this.#state.kind === "ok") log.error("frames not stored", { id: boat.id, error: reason });
      const sinceMs = this.#state.kind === "failing" ? this.#state.sinceMs : Math.floor(clock.wallUs() / 1000);
      this.#state = { kind: "failing", reason, sinceMs };
      this.#retryMs = clock.monoMs() + RETRY_MS;
      this.#dueMs.set(boat, this.#retryMs);
    }
  }
}

/** A number from 0 to 1 that spreads boats by their id. */
function phaseOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  return hash / 2 ** 32;
}
