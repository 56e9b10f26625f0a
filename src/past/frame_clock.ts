/** A time that is earlier by no more than this belongs to a late frame; a larger step back means that the clock was set. */
const LATE_MS = 10_000;

/**
 * Measures how long a boat has been sending, by the times of its frames. A silence or a clock set forward counts for at most
 * `maxStepMs`, a clock set back for nothing.
 */
export class FrameClock {
  readonly #maxStepMs: number;
  #newestMs: number | undefined;
  #ms: number;

  /**
   * @param options.newestMs the boat's time when measuring begins; default that of the first frame
   * @param options.ms measured before; default 0
   */
  constructor({ maxStepMs, newestMs, ms = 0 }: { maxStepMs: number; newestMs?: number | undefined; ms?: number }) {
    this.#maxStepMs = maxStepMs;
    this.#newestMs = newestMs;
    this.#ms = ms;
  }

  /** Milliseconds measured so far. */
  get ms(): number {
    return this.#ms;
  }

  /** Time of the newest frame, milliseconds since 1970; undefined before the first. */
  get newestMs(): number | undefined {
    return this.#newestMs;
  }

  /** Adds the time of a frame; returns {@linkcode FrameClock.ms}. */
  advance(timeMs: number): number {
    const newest = this.#newestMs ?? timeMs;
    const step = timeMs - newest;
    if (step > 0) this.#ms += Math.min(step, this.#maxStepMs);
    if (step > 0 || step < -LATE_MS || this.#newestMs === undefined) this.#newestMs = timeMs;
    return this.#ms;
  }
}
