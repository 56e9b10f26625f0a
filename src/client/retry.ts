import { ApiError, ConnectionError } from "./errors.ts";

/** How often, and after what time, a connection that was lost is tried again. Waits double from `firstMs` to `capMs`. */
export interface RetryOptions {
  /** Tries in a row that may fail; 0: none after the first. Default no limit. */
  retries?: number;
  /** First wait, milliseconds; default 1000. */
  firstMs?: number;
  /** Longest wait, milliseconds; default 30 000. */
  capMs?: number;
  /** Part of a wait by which it is longer or shorter, so that clients do not come all at once; default 0.2. */
  jitter?: number;
  /** Gives numbers from 0 up to 1; default `Math.random`. */
  random?: () => number;
}

/** Refusals that pass by themselves. */
const PASSING: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** True when the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && PASSING.includes(error.status));
}

/** Counts tries that fail, and says how long to wait. */
export class Retry {
  readonly #options: Required<RetryOptions>;
  #failures = 0;

  constructor(options: RetryOptions = {}) {
    this.#options = { retries: Infinity, firstMs: 1000, capMs: 30_000, jitter: 0.2, random: Math.random, ...options };
  }

  /** Something came: the next failure is the first again. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * Milliseconds to wait before the next try, as long as the server asks for at least.
   *
   * @throws the error itself, when another try is not worth it or not allowed
   */
  waitMs(error: unknown): number {
    const { retries, firstMs, capMs, jitter, random } = this.#options;
    if (!isPassing(error) || this.#failures >= retries) throw error;
    const waitMs = Math.min(capMs, firstMs * 2 ** this.#failures) * (1 + jitter * (2 * random() - 1));
    this.#failures++;
    return Math.max(Math.round(waitMs), error instanceof ApiError ? error.retryAfterMs ?? 0 : 0);
  }
}
