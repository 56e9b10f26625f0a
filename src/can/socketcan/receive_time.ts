import type { Clock } from "../../base/mod.ts";

/** Highest plausible age of a frame. Beyond it the wall clock was set, or the machine slept. */
export const MAX_FRAME_AGE_MS = 60_000;

/**
 * Converts the kernel's wall-clock time stamps of one bus to the monotonic clock. A frame that waited while the event loop
 * was blocked keeps its time of arrival, not the time of reading.
 *
 * The wall clock may be set at any time: an implausible age counts as 0, and the result
 * never goes back and is never later than the time of reading.
 */
export class ReceiveTime {
  readonly #clock: Clock;
  #readMonoMs = 0;
  #readWallUs = 0;
  #lastMonoMs = -Infinity;

  /** @param clock read once per batch */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wall clock at the last {@linkcode read}, microseconds since 1970; for frames without a time stamp. */
  get readWallUs(): number {
    return this.#readWallUs;
  }

  /** Reads both clocks. To be called once per batch. Returns the monotonic time, milliseconds. */
  read(): number {
    this.#readMonoMs = this.#clock.monoMs();
    this.#readWallUs = this.#clock.wallUs();
    return this.#readMonoMs;
  }

  /**
   * Monotonic time of a frame of the batch, milliseconds. To be called in the order of reception.
   *
   * @param timeUs its time stamp, microseconds since 1970
   */
  monoMs(timeUs: number): number {
    const ageMs = (this.#readWallUs - timeUs) / 1000;
    const isTrue = ageMs >= 0 && ageMs <= MAX_FRAME_AGE_MS;
    this.#lastMonoMs = Math.max(this.#lastMonoMs, isTrue ? this.#readMonoMs - ageMs : this.#readMonoMs);
    return this.#lastMonoMs;
  }
}
