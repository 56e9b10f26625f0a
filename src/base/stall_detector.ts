import type { Logger } from "./log.ts";

/** How often the loop is looked at. */
const CHECK_MS = 20;
/** A turn that takes longer than this is counted. */
const STALL_MS = 10;
/** A stall longer than this is also logged. */
const LOGGED_STALL_MS = 100;

/** Notices when something held the event loop, and says what ran last. */
export class StallDetector {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #timer: ReturnType<typeof setInterval>;
  #lastMs: number;
  #activity = "idle";
  #stalls = 0;
  #maxLagMs = 0;

  /**
   * Begins to look.
   *
   * @param log gets a warning for each long stall
   * @param options.now monotonic milliseconds, default the machine's
   */
  constructor(log: Logger, { now = () => performance.now() }: { now?: () => number } = {}) {
    this.#log = log;
    this.#now = now;
    this.#lastMs = now();
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Turns of the loop that took longer than 10 ms. */
  get stalls(): number {
    return this.#stalls;
  }

  /** Longest lag since the last call, milliseconds. */
  takeMaxLagMs(): number {
    const lag = this.#maxLagMs;
    this.#maxLagMs = 0;
    return lag;
  }

  /** Says what runs from now on, for the report of a stall. */
  mark(activity: string): void {
    this.#activity = activity;
  }

  /** Looks no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = this.#now();
    const lagMs = now - this.#lastMs - CHECK_MS;
    this.#lastMs = now;
    this.#maxLagMs = Math.max(this.#maxLagMs, lagMs);
    if (lagMs > STALL_MS) this.#stalls++;
    if (lagMs > LOGGED_STALL_MS) {
      this.#log.warn("event loop held", { lag_ms: Math.round(lagMs), last_activity: this.#activity });
    }
    this.#activity = "idle";
  }
}
