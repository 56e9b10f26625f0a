import type { Logger } from "./log.ts";

/** Interval of checking the event loop for unmeasured work. */
const CHECK_MS = 20;
/** Work that blocks the event loop longer than this is counted. */
const STALL_MS = 10;
/** A stall longer than this is also logged, */
const LOGGED_STALL_MS = 100;
/** but not more often than this. */
const LOG_INTERVAL_MS = 5000;
/** Window of the longest stall. */
const WINDOW_MS = 60_000;

/**
 * Detects and names work that blocks the event loop. Work inside {@linkcode StallDetector.run} is measured; other work
 * shows as timer lag, which is attributed to the activity marked last.
 */
export class StallDetector {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #timer: ReturnType<typeof setInterval>;
  #checkedMs: number;
  /** Time measured by `run` since the last check. */
  #measuredMs = 0;
  #activity = "idle";
  #stalls = 0;
  #loggedMs = -Infinity;
  /** Longest stall of the current and of the previous window. */
  #longestMs = 0;
  #longestBeforeMs = 0;
  #windowMs: number;

  /**
   * Starts checking.
   *
   * @param log gets a warning for long stalls
   * @param options.now monotonic clock, milliseconds; default `performance.now`
   */
  constructor(log: Logger, { now = () => performance.now() }: { now?: () => number } = {}) {
    this.#log = log;
    this.#now = now;
    this.#checkedMs = now();
    this.#windowMs = this.#checkedMs;
    this.#timer = setInterval(() => this.check(), CHECK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Number of times that the event loop was blocked for more than 10 ms. */
  get stalls(): number {
    return this.#stalls;
  }

  /** Longest stall of the last one to two minutes, milliseconds. */
  get longestMs(): number {
    return Math.max(this.#longestMs, this.#longestBeforeMs);
  }

  /** Runs `work` and measures how long it blocks the loop; for an asynchronous function only its synchronous part. */
  run<T>(activity: string, work: () => T): T {
    const startMs = this.#now();
    try {
      return work();
    } finally {
      const heldMs = this.#now() - startMs;
      this.#measuredMs += heldMs;
      if (heldMs > STALL_MS) this.#record(heldMs, activity);
    }
  }

  /** Names the current activity, where measuring it would cost more than the work itself. */
  mark(activity: string): void {
    this.#activity = activity;
  }

  /** Measures the lag of the loop since the last check. Called by the timer. */
  check(): void {
    const now = this.#now();
    const lagMs = now - this.#checkedMs - CHECK_MS - this.#measuredMs;
    this.#checkedMs = now;
    this.#measuredMs = 0;
    if (now - this.#windowMs > WINDOW_MS) {
      this.#longestBeforeMs = this.#longestMs;
      this.#longestMs = 0;
      this.#windowMs = now;
    }
    if (lagMs > STALL_MS) this.#record(lagMs, this.#activity);
    this.#activity = "idle";
  }

  /** Stops checking. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #record(heldMs: number, activity: string): void {
    this.#stalls++;
    this.#longestMs = Math.max(this.#longestMs, heldMs);
    const now = this.#now();
    if (heldMs <= LOGGED_STALL_MS || now - this.#loggedMs < LOG_INTERVAL_MS) return;
    this.#loggedMs = now;
    this.#log.warn("event loop held", { held_ms: Math.round(heldMs), activity, stalls: this.#stalls });
  }
}
