/**
 * Yields the items until the command is stopped. A read that blocks on an idle pipe cannot be interrupted; it is
 * abandoned, so the process must end soon.
 *
 * @throws the signal's reason
 */
export async function* untilStopped<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const stopped = Promise.withResolvers<never>();
  // Avoids an unhandled rejection if nothing waits.
  stopped.promise.catch(() => {});
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const rest = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await Promise.race([rest.next(), stopped.promise]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // An abandoned read would block the end.
    if (!signal.aborted) await rest.return?.();
  }
}
