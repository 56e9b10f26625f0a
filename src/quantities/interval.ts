/** Newest intervals that count. */
const KEPT = 5;
/** A longer interval is a pause of the device or a step of the clock, milliseconds. */
const LONGEST_MS = 3_600_000;

/** The usual interval of a series of messages: the median of the newest ones, which a late message does not change. */
export class UsualInterval {
  readonly #defaultMs: number;
  readonly #intervals: number[] = [];
  #lastMs: number | undefined;
  /** The median, when it was asked for. */
  #ms: number | undefined;

  /**
   * Starts without messages.
   *
   * @param defaultMs the interval until one is known, milliseconds
   */
  constructor(defaultMs: number) {
    this.#defaultMs = defaultMs;
  }

  /** Milliseconds. */
  get ms(): number {
    if (this.#ms === undefined) {
      const sorted = [...this.#intervals].sort((a, b) => a - b);
      this.#ms = sorted[Math.floor((sorted.length - 1) / 2)] ?? this.#defaultMs;
    }
    return this.#ms;
  }

  /** Whether the newest intervals are alike: the longest at most twice the shortest. False until five are known. */
  get isRegular(): boolean {
    return this.#intervals.length === KEPT && Math.max(...this.#intervals) <= 2 * Math.min(...this.#intervals);
  }

  /** Notes a message. Messages of one time, those before the last, and those after a long pause are not counted. */
  note(timeMs: number): void {
    const last = this.#lastMs;
    this.#lastMs = timeMs;
    if (last === undefined || timeMs <= last || timeMs - last > LONGEST_MS) return;
    this.#ms = undefined;
    this.#intervals.push(timeMs - last);
    if (this.#intervals.length > KEPT) this.#intervals.shift();
  }
}
