import { ApiError, ConnectionError } from "./errors.ts";

/** Reconnection of a stream. Waits double from `firstMs` to `capMs`. */
export interface RetryOptions {
  /** Maximum number of failed attempts in a row; 0: no retries. Default no limit. */
  retries?: number;
  /** First wait, milliseconds; default 1000. */
  firstMs?: number;
  /** Longest wait, milliseconds; default 30 000. */
  capMs?: number;
  /** Random variation of a wait, as a fraction of it, so that clients do not reconnect all at once; default 0.2. */
  jitter?: number;
  /** Returns numbers from 0 up to 1; default `Math.random`. */
  random?: () => number;
}

/** Statuses of temporary errors. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** True when the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && TRANSIENT_STATUSES.includes(error.status));
}

/** Counts failed attempts and computes the waits. */
export class Retry {
  readonly #options: Required<RetryOptions>;
  #failures = 0;

  constructor(
    { retries = Infinity, firstMs = 1000, capMs = 30_000, jitter = 0.2, random = Math.random }: RetryOptions = {},
  ) {
    this.#options = { retries, firstMs, capMs, jitter, random };
  }

  /** Resets the count of failures. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * Wait before the next attempt, milliseconds; at least the `Retry-After` of the server.
   *
   * @throws the error itself if it is permanent or all retries have failed
   */
  waitMs(error: unknown): number {
    const { retries, firstMs, capMs, jitter, random } = this.#options;
    if (!isTransient(error) || this.#failures >= retries) throw error;
    const waitMs = Math.min(capMs, firstMs * 2 ** this.#failures) * (1 + jitter * (2 * random() - 1));
    this.#failures++;
    return Math.max(Math.round(waitMs), error instanceof ApiError ? error.retryAfterMs ?? 0 : 0);
  }
}
