/** Waiting times that double from `firstMs` up to `capMs`. */
export interface BackoffOptions {
  /** First wait, milliseconds. */
  firstMs: number;
  /** Longest wait, milliseconds. */
  capMs: number;
}

/** Wait before try number `attempt` (1 is the first retry), milliseconds. */
export function backoffMs(attempt: number, { firstMs, capMs }: BackoffOptions): number {
  return Math.min(capMs, firstMs * 2 ** Math.max(0, attempt - 1));
}
