/** Rate limiter: allows bursts of `burst` and `perSecond` on average. Pure: the caller passes the time. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #lastMs: number | undefined;

  /**
   * Makes a full bucket.
   *
   * @param options.perSecond refill, tokens per second; 0 or less means no limit
   * @param options.burst size of the bucket, tokens
   */
  constructor({ perSecond, burst }: { perSecond: number; burst: number }) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Takes `count` tokens. Returns false, and takes none, when there are fewer. */
  take(nowMs: number, count = 1): boolean {
    if (this.#perSecond <= 0) return true;
    const elapsedMs = Math.max(0, nowMs - (this.#lastMs ?? nowMs));
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsedMs * this.#perSecond / 1000);
    this.#lastMs = nowMs;
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Milliseconds from the last `take` until `count` tokens are available; Infinity when the bucket is smaller. */
  waitMs(count = 1): number {
    if (this.#perSecond <= 0 || this.#tokens >= count) return 0;
    return count > this.#burst ? Infinity : (count - this.#tokens) * 1000 / this.#perSecond;
  }
}
