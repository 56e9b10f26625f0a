/** Yields to the event loop. */
export function turn(): Promise<void> {
  return pause(0);
}

/**
 * Waits for `ms` milliseconds.
 *
 * @throws the signal's reason, when it is aborted first
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Delays that double from `firstMs` up to `capMs`. */
export interface BackoffOptions {
  /** First delay, milliseconds. */
  firstMs: number;
  /** Longest delay, milliseconds. */
  capMs: number;
}

/** Delay before attempt number `attempt` (1 is the first retry), milliseconds. */
export function backoffMs(attempt: number, { firstMs, capMs }: BackoffOptions): number {
  return Math.min(capMs, firstMs * 2 ** Math.max(0, attempt - 1));
}
