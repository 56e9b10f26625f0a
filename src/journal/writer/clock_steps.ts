/** A difference of wall and monotonic time that changes by more than this is a clock that was set. */
const MAX_DRIFT_US = 1_000_000;

/**
 * Finds steps of the machine's wall clock: each frame has both times, and their difference changes only when the wall
 * clock is set. Frames of several buses may come in any order of time; that says nothing about the clock.
 */
export class ClockSteps {
  #offsetUs: number | undefined;

  /** True where the clock was set between the frame before and this one, by more than a second in either direction. */
  isStep({ timeUs, monoMs }: { timeUs: number; monoMs: number }): boolean {
    const offsetUs = timeUs - monoMs * 1000;
    const before = this.#offsetUs ?? offsetUs;
    this.#offsetUs = offsetUs;
    return Math.abs(offsetUs - before) > MAX_DRIFT_US;
  }
}
