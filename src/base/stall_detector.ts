import type { Logger } from "./log.ts";

/** How often the loop itself is looked at, for what nobody measures. */
const CHECK_MS = 20;
/** Whatever holds the event loop longer than this is counted. */
const STALL_MS = 10;
/** A stall longer than this is also logged, */
const LOGGED_STALL_MS = 100;
/** but not more often than this. */
const LOG_INTERVAL_MS = 5000;
/** Span of the longest stall that is told. */
const WINDOW_MS = 60_000;

/**
 * Notices when something held the event loop, and says what. What runs inside {@linkcode StallDetector.run} is measured;
 * anything else shows as lag of a timer, put down to the activity that was marked last.
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
  /** Longest stall of this span and of the one before. */
  #longestMs = 0;
  #longestBeforeMs = 0;
  #windowMs: number;

  /**
   * Begins to look.
   *
   * @param log gets a warning for long stalls
   * @param options.now monotonic milliseconds, default the machine's
   */
  constructor(log: Logger, { now = () => performance.now() }: { now?: () => number } = {}) {
    this.#log = log;
    this.#now = now;
    this.#checkedMs = now();
    this.#windowMs = this.#checkedMs;
    this.#timer = setInterval(() => this.check(), CHECK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Times that something held the event loop for more than 10 ms. */
  get stalls(): number {
    return this.#stalls;
  }

  /** Longest stall of the last one to two minutes, milliseconds. */
  get longestMs(): number {
    return Math.max(this.#longestMs, this.#longestBeforeMs);
  }

  /** Runs `work` and measures how long it holds the loop; of an asynchronous function, its first turn. */
  run<T>(activity: string, work: () => T): T {
    const startMs = this.#now();
    try {
      return work();
    } finally {
      const heldMs = this.#now() - startMs;
      this.#measuredMs += heldMs;
      if (heldMs > STALL_MS) this.#note(heldMs, activity);
    }
  }

  /** Says what runs now, where measuring each time would cost more than the work. */
  mark(activity: string): void {
    this.#activity = activity;
  }

  /** Looks at the lag of the loop since the last look. The timer calls it. */
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
    if (lagMs > STALL_MS) this.#note(lagMs, this.#activity);
    this.#activity = "idle";
  }

  /** Looks no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #note(heldMs: number, activity: string): void {
    this.#stalls++;
    this.#longestMs = Math.max(this.#longestMs, heldMs);
    const now = this.#now();
    if (heldMs <= LOGGED_STALL_MS || now - this.#loggedMs < LOG_INTERVAL_MS) return;
    this.#loggedMs = now;
    this.#log.warn("event loop held", { held_ms: Math.round(heldMs), activity, stalls: this.#stalls });
  }
}
