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
