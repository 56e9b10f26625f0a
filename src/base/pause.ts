/** Lets whatever else waits have its turn. */
export function turn(): Promise<void> {
  return pause(0);
}

/**
 * Waits so many milliseconds.
 *
 * @throws the signal's reason when that comes first
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const give = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", give);
      resolve();
    }, ms);
    signal?.addEventListener("abort", give, { once: true });
  });
}
