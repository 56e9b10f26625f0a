/** Wall clock and monotonic clock. */
export interface Clock {
  /** Wall clock, microseconds since 1970. For time stamps only: it can jump. */
  wallUs(): number;
  /** Monotonic clock, milliseconds. For timeouts. */
  monoMs(): number;
}

/** Resolution of the system's wall clock, which rounds down. */
const WALL_STEP_US = 1000;
/** Tolerance for slewing before the wall clock counts as set back. */
const SLACK_US = 1000;

/**
 * A wall clock in microseconds that follows the monotonic clock until the system's wall clock is set: a later frame never
 * gets an earlier time.
 */
class WallClock {
  /** Wall time minus monotonic time. Rounded readings are at most one step below it. */
  #offsetUs = -Infinity;

  nowUs(monoMs: number): number {
    const monoUs = monoMs * 1000;
    const offsetUs = Date.now() * 1000 - monoUs;
    if (offsetUs > this.#offsetUs || offsetUs < this.#offsetUs - WALL_STEP_US - SLACK_US) this.#offsetUs = offsetUs;
    return Math.floor(monoUs + this.#offsetUs);
  }
}

const wallClock = new WallClock();

/** The clocks of the system. */
export const systemClock: Clock = {
  wallUs: () => wallClock.nowUs(performance.now()),
  monoMs: () => performance.now(),
};

/** Yields to the event loop. */
export function turn(): Promise<void> {
  return pause(0);
}

/** Longest delay of a timer, 25 days; one with a longer delay expires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A delay that a timer can have, milliseconds; of a negative one the runtime would warn. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(0, ms), MAX_TIMER_MS);
}

/**
 * Waits for `ms` milliseconds, at most 25 days; a negative time is over already.
 *
 * @throws the signal's reason, when it is aborted first
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, timerMs(ms));
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Delays that double from `firstMs` up to `capMs`. */
export interface BackoffOptions {
  /** First delay, milliseconds. */
  firstMs: number;
  /** Longest delay, milliseconds. */
  capMs: number;
}

/** Delay before attempt number `attempt` (1 is the first retry), milliseconds. */
export function backoffMs(attempt: number, { firstMs, capMs }: BackoffOptions): number {
  return Math.min(capMs, firstMs * 2 ** Math.max(0, attempt - 1));
}
