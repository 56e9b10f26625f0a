import { Interrupter } from "@vessel/gateway/base";

/**
 * Yields the items until the command is stopped. A read that blocks on an idle pipe cannot be interrupted; it is
 * abandoned, so the process must end soon.
 *
 * @throws the signal's reason
 */
export async function* untilStopped<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const stopped = new Interrupter();
  const stop = () => stopped.interrupt(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const rest = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await stopped.wait(rest.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // An abandoned read would block the end.
    if (!signal.aborted) await rest.return?.();
  }
}
