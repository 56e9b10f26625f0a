/** Too many series or buckets for one reply or file. */
export class SeriesCountError extends Error {
  override name = "SeriesCountError";
}

/** Memory of a series without buckets, in buckets. */
const SERIES_COST = 5;

/** Limits the memory of one reply: series and their buckets, some 200 bytes each. */
export class BucketBudget {
  readonly #most: number;
  #used = 0;

  /** @param most maximum number of buckets */
  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a new series. @throws {SeriesCountError} there are too many */
  addSeries(): void {
    this.#add(SERIES_COST);
  }

  /** Counts a new bucket. @throws {SeriesCountError} there are too many */
  addBucket(): void {
    this.#add(1);
  }

  #add(count: number): void {
    this.#used += count;
    if (this.#used > this.#most) throw new SeriesCountError(`more than ${this.#most} points`);
  }
}
