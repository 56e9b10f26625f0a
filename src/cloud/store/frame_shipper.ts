import { type Clock, errorText, type Logger } from "../../base/mod.ts";

/** A boat whose frames go to the store. */
export interface Shipped {
  readonly id: string;
  /** True if frames in its files may not be in the store. */
  readonly hasUnstored: boolean;
  /** True if the boat keeps its frames until they are stored; false: it has no journal. */
  readonly keepsFrames: boolean;
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
  /** Must succeed once before any frames are stored; default: nothing. @throws {Error} the store does not answer yet */
  prepare?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Time from one storing to the next for each boat, milliseconds; at most {@linkcode UNKEPT_INTERVAL_MS} if the boat keeps no frames. */
  intervalMs: number;
  /** Boats at the same time; default {@linkcode BOATS_AT_ONCE}. */
  atOnce?: number | undefined;
  /** What is logged when the store fails; default that frames are not stored. */
  failure?: string | undefined;
  clock: Clock;
  log: Logger;
}

/** Longest interval of boats without a journal: until then, their frames are on this machine only, milliseconds. */
export const UNKEPT_INTERVAL_MS = 5000;
/** Boats whose frames are stored at the same time: a request mostly waits for the store's disks. */
export const BOATS_AT_ONCE = 16;
/** After a failure no boat is tried for this time, milliseconds. */
export const RETRY_MS = 5000;

/**
 * Stores the frames of all boats that have some, each at its interval. The boats are spread over the interval. While the store does
 * not answer, frames stay in the boats' directories.
 */
export class FrameShipper {
  readonly #options: FrameShipperOptions;
  readonly #stop = new AbortController();
  /** When each boat is due, monotonic milliseconds. */
  readonly #dueMs = new WeakMap<Shipped, number>();
  readonly #working = new Map<Shipped, Promise<void>>();
  /** Boats that are due, the longest due one last. */
  #queue: Shipped[] = [];
  #preparation: Promise<void> | "done" | undefined;
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
    const { boats, clock } = this.#options;
    const nowMs = clock.monoMs();
    if (nowMs < this.#retryMs || !this.#isPrepared()) return;
    const due: { boat: Shipped; dueMs: number }[] = [];
    for (const boat of boats) {
      if (!boat.hasUnstored || this.#working.has(boat)) continue;
      const dueMs = this.#dueMs.get(boat) ?? nowMs + phaseOf(boat.id) * this.#intervalMs(boat);
      this.#dueMs.set(boat, dueMs);
      if (dueMs <= nowMs) due.push({ boat, dueMs });
    }
    // Popped from the end, so that none waits for boats that were due after it.
    this.#queue = due.sort((a, b) => b.dueMs - a.dueMs).map(({ boat }) => boat);
    this.#beginQueued();
  }

  /** Begins boats that are due, as many as may be stored at the same time; only one while the store does not answer. */
  #beginQueued(): void {
    const { clock, atOnce = BOATS_AT_ONCE } = this.#options;
    while (this.#working.size < (this.#state.kind === "ok" ? atOnce : 1) && !this.#stop.signal.aborted) {
      const boat = this.#queue.pop();
      if (!boat) return;
      this.#dueMs.set(boat, clock.monoMs() + this.#intervalMs(boat));
      const shipping = this.#attempt((signal) => boat.ship(signal), { id: boat.id }).then((isDone) => {
        this.#working.delete(boat);
        if (isDone) return this.#beginQueued();
        this.#dueMs.set(boat, this.#retryMs);
        this.#queue = [];
      });
      this.#working.set(boat, shipping);
    }
  }

  #intervalMs({ keepsFrames }: Shipped): number {
    return Math.min(this.#options.intervalMs, keepsFrames ? Infinity : UNKEPT_INTERVAL_MS);
  }

  /** Stores the frames of all boats once, until `signal` is aborted or the store fails. Never rejects. */
  async shipAll(signal: AbortSignal): Promise<void> {
    const end = () => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", end);
    this.#queue = [];
    await Promise.all(this.#working.values());
    const boats = [...this.#options.boats].filter(({ hasUnstored }) => hasUnstored);
    let isAnswering = this.#state.kind === "ok" && this.#isPrepared();
    const work = async () => {
      for (let boat = boats.pop(); boat && isAnswering; boat = boats.pop()) {
        const { id } = boat;
        if (!await this.#attempt(boat.ship.bind(boat), { id })) isAnswering = false;
      }
    };
    await Promise.all(Array.from({ length: BOATS_AT_ONCE }, work));
    signal.removeEventListener("abort", end);
  }

  /** Ends requests that are under way; what they did not store stays in the boats' directories. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#preparation, ...this.#working.values()]);
  }

  /** True once the store has been prepared; begins to, if nobody does. */
  #isPrepared(): boolean {
    const { prepare } = this.#options;
    if (!prepare || this.#preparation === "done") return true;
    this.#preparation ??= this.#attempt(prepare, {}).then((isDone) => {
      this.#preparation = isDone ? "done" : undefined;
    });
    return false;
  }

  /** Never rejects. False: the store did not answer, which is logged once. */
  async #attempt(work: (signal: AbortSignal) => Promise<void>, fields: { id?: string }): Promise<boolean> {
    const { clock, log, failure = "frames not stored" } = this.#options;
    try {
      await work(this.#stop.signal);
      if (this.#state.kind === "ok") return true;
      log.info("object store answers again", { failingMs: Math.floor(clock.wallUs() / 1000) - this.#state.sinceMs });
      this.#state = { kind: "ok" };
      return true;
    } catch (error) {
      if (this.#stop.signal.aborted) return false;
      const reason = errorText(error);
      if (this.#state.kind === "ok") log.error(failure, { ...fields, error: reason });
      const sinceMs = this.#state.kind === "failing" ? this.#state.sinceMs : Math.floor(clock.wallUs() / 1000);
      this.#state = { kind: "failing", reason, sinceMs };
      this.#retryMs = clock.monoMs() + RETRY_MS;
      return false;
    }
  }
}

/** A number from 0 to 1 that spreads boats by their id. */
export function phaseOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  // Ids that differ in the last digit only are not neighbours.
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return ((hash ^ hash >>> 16) >>> 0) / 2 ** 32;
}
