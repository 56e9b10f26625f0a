/** The wall clock was set if the difference between wall and monotonic time changes by more than this. */
const MAX_DRIFT_US = 1_000_000;

/**
 * Finds steps of the machine's wall clock: each frame has both times, and their difference changes only when the wall
 * clock is set. Frames of several buses may come in any order of time; that says nothing about the clock.
 */
export class ClockSteps {
  #offsetUs: number | undefined;

  /** True if the clock was set by more than a second, in either direction, between the previous frame and this one. */
  isStep({ timeUs, monoMs }: { timeUs: number; monoMs: number }): boolean {
    const offsetUs = timeUs - monoMs * 1000;
    const before = this.#offsetUs ?? offsetUs;
    this.#offsetUs = offsetUs;
    return Math.abs(offsetUs - before) > MAX_DRIFT_US;
  }
}
