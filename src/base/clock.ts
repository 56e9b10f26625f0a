/** Both clocks, handed to whatever must know the time. */
export interface Clock {
  /** Wall clock, microseconds since 1970. Labels only: it jumps. */
  wallUs(): number;
  /** Monotonic clock, milliseconds. What timeouts are measured with. */
  monoMs(): number;
}

/** The machine gives its wall clock in whole milliseconds, rounded down. */
const WALL_STEP_US = 1000;
/** The wall clock may be slowed down this far before it counts as set back. */
const SLACK_US = 1000;

/**
 * A wall clock of microseconds that runs with the monotonic one until the machine's is set: two frames of which one came
 * later never get times in the other order.
 */
class WallClock {
  /** Difference of wall and monotonic time. Rounded readings are at most a step below it. */
  #offsetUs = -Infinity;

  nowUs(monoMs: number): number {
    const monoUs = monoMs * 1000;
    const offsetUs = Date.now() * 1000 - monoUs;
    if (offsetUs > this.#offsetUs || offsetUs < this.#offsetUs - WALL_STEP_US - SLACK_US) this.#offsetUs = offsetUs;
    return Math.floor(monoUs + this.#offsetUs);
  }
}

const wallClock = new WallClock();

/** The machine's clocks. */
export const systemClock: Clock = {
  wallUs: () => wallClock.nowUs(performance.now()),
  monoMs: () => performance.now(),
};
