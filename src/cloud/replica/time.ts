/** A step back by no more than this is a frame that comes late; a larger one is a clock that was set. */
const LATE_MS = 10_000;

/**
 * How long a boat has been talking, by the times of its own frames. A silence, and a clock that is set forwards, count for
 * no more than `maxStepMs`; one that is set back counts for nothing.
 */
export class BoatClock {
  readonly #maxStepMs: number;
  #newestMs: number | undefined;
  #ms = 0;

  /** @param options.newestMs the boat's time when counting begins; default that of the first frame */
  constructor({ maxStepMs, newestMs }: { maxStepMs: number; newestMs?: number | undefined }) {
    this.#maxStepMs = maxStepMs;
    this.#newestMs = newestMs;
  }

  /** Milliseconds counted so far. */
  get ms(): number {
    return this.#ms;
  }

  /** The boat's time at its newest frame, milliseconds since 1970; undefined before the first. */
  get newestMs(): number | undefined {
    return this.#newestMs;
  }

  /** A frame of this time came; returns {@linkcode BoatClock.ms}. */
  heard(timeMs: number): number {
    const newest = this.#newestMs ?? timeMs;
    const step = timeMs - newest;
    if (step > 0) this.#ms += Math.min(step, this.#maxStepMs);
    if (step > 0 || step < -LATE_MS || this.#newestMs === undefined) this.#newestMs = timeMs;
    return this.#ms;
  }
}
