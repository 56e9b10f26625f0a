/** Latencies are counted from so many milliseconds on … */
const FIRST_MS = 0.01;
/** … in classes of which each is larger by so much: that is how exact they are. */
const STEP = 1.02;
/** Up to about 2 hours. */
const CLASSES = 1024;

/** Counts latencies in a fixed amount of memory, however many they are. */
export class Latencies {
  readonly #counts = new Float64Array(CLASSES);
  #count = 0;
  #maxMs = 0;

  /** How many came. */
  get count(): number {
    return this.#count;
  }

  /** The greatest, milliseconds; 0 where none came. */
  get maxMs(): number {
    return this.#maxMs;
  }

  add(ms: number): void {
    const place = Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / Math.log(STEP));
    const index = Math.min(CLASSES - 1, place);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  /** What so large a part of them does not exceed, milliseconds, 2 % too high at most; undefined where none came. */
  quantileMs(part: number): number | undefined {
    if (this.#count === 0) return undefined;
    let rest = Math.max(1, Math.ceil(this.#count * part));
    const index = this.#counts.findIndex((count) => (rest -= count) <= 0);
    return Math.min(this.#maxMs, FIRST_MS * STEP ** index);
  }
}
