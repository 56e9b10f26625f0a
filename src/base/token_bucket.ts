/** Lets `burst` things through at once and `perSecond` on average. Pure: the caller says what time it is. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #lastMs: number | undefined;

  /**
   * Makes a full bucket.
   *
   * @param options.perSecond refill, tokens a second; 0 or less lets everything through
   * @param options.burst size of the bucket, tokens
   */
  constructor({ perSecond, burst }: { perSecond: number; burst: number }) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Takes `count` tokens if they are there. */
  take(nowMs: number, count = 1): boolean {
    if (this.#perSecond <= 0) return true;
    const elapsedMs = Math.max(0, nowMs - (this.#lastMs ?? nowMs));
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsedMs * this.#perSecond / 1000);
    this.#lastMs = nowMs;
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Milliseconds from the last take until `count` tokens are there; Infinity when the bucket is too small for them. */
  waitMs(count = 1): number {
    if (this.#perSecond <= 0 || this.#tokens >= count) return 0;
    return count > this.#burst ? Infinity : (count - this.#tokens) * 1000 / this.#perSecond;
  }
}
