import type { Clock } from "../../base/mod.ts";

/** A frame cannot have waited longer than this: the wall clock was set meanwhile, or the machine slept. */
export const MAX_FRAME_AGE_MS = 60_000;

/**
 * Puts the kernel's stamps of one bus, wall clock, on the monotonic clock. A frame that waited while the event loop was
 * held keeps the time at which it came, not the one at which it was read.
 *
 * The wall clock may be set at any time: an age that cannot be true counts as none, and whatever it says, the result
 * never goes back and never is later than the read.
 */
export class ReceiveTime {
  readonly #clock: Clock;
  #readMonoMs = 0;
  #readWallUs = 0;
  #lastMonoMs = -Infinity;

  /** @param clock tells the age of a stamp, once per batch */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wall clock at the last {@linkcode read}, microseconds since 1970; for frames without a stamp. */
  get readWallUs(): number {
    return this.#readWallUs;
  }

  /** Reads both clocks, to be done once per batch. Returns the monotonic one, milliseconds. */
  read(): number {
    this.#readMonoMs = this.#clock.monoMs();
    this.#readWallUs = this.#clock.wallUs();
    return this.#readMonoMs;
  }

  /**
   * Monotonic time of a frame of the batch, milliseconds. Frames must come in the order they were received in.
   *
   * @param timeUs its stamp, microseconds since 1970
   */
  monoMs(timeUs: number): number {
    const ageMs = (this.#readWallUs - timeUs) / 1000;
    const isTrue = ageMs >= 0 && ageMs <= MAX_FRAME_AGE_MS;
    this.#lastMonoMs = Math.max(this.#lastMonoMs, isTrue ? this.#readMonoMs - ageMs : this.#readMonoMs);
    return this.#lastMonoMs;
  }
}
