/** Upper bound of the first bucket, milliseconds. */
const FIRST_MS = 0.01;
/** Growth factor of the buckets: the relative precision. */
const GROWTH = 1.02;
/** Up to about 2 hours. */
const BUCKETS = 1024;

/** Histogram of latencies in a fixed amount of memory. */
export class Latencies {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = 0;

  /** Number of values added. */
  get count(): number {
    return this.#count;
  }

  /** Maximum, milliseconds; 0 if empty. */
  get maxMs(): number {
    return this.#maxMs;
  }

  add(ms: number): void {
    const bucket = Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / Math.log(GROWTH));
    const index = Math.min(BUCKETS - 1, bucket);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  /** Quantile, milliseconds, at most 2 % too high; undefined if empty. */
  quantileMs(part: number): number | undefined {
    if (this.#count === 0) return undefined;
    let rest = Math.max(1, Math.ceil(this.#count * part));
    const index = this.#counts.findIndex((count) => (rest -= count) <= 0);
    return Math.min(this.#maxMs, FIRST_MS * GROWTH ** index);
  }
}
