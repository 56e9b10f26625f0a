import { StoreError } from "../../object_store/mod.ts";

/** Longest time that a boat or a client waits for one answer of the store, milliseconds: a handshake needs two. */
export const READ_TIMEOUT_MS = 5000;

/** Longest time that a boat waits until its live frames are taken without what the store has of it, milliseconds. */
export const LIST_TIMEOUT_MS = 3000;

/** Ends a call of the store after `timeoutMs`, default {@linkcode READ_TIMEOUT_MS}. @throws {StoreError} `away`: it did not answer in time */
export async function inReadTime<T>(
  call: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs = READ_TIMEOUT_MS }: { signal?: AbortSignal | undefined; timeoutMs?: number } = {},
): Promise<T> {
  const time = new AbortController();
  const late = () =>
    time.abort(new StoreError(`The store has not answered within ${timeoutMs / 1000} s`, { kind: "away" }));
  const timer = setTimeout(late, timeoutMs);
  try {
    return await call(signal ? AbortSignal.any([signal, time.signal]) : time.signal);
  } finally {
    clearTimeout(timer);
  }
}
