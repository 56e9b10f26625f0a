/**
 * The items as they come, until the command is stopped: also while a pipe has nothing to read, which cannot be
 * interrupted. Such a read is abandoned, so the process has to end soon.
 *
 * @throws the signal's reason
 */
export async function* untilStopped<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const stopped = Promise.withResolvers<never>();
  // Nobody may be waiting when it is rejected.
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
    // An abandoned read would hold up the end.
    if (!signal.aborted) await rest.return?.();
  }
}
