import { StoreError } from "../../object_store/mod.ts";

/** Longest time that a boat or a client waits for one answer of the store, milliseconds: a handshake needs two. */
export const READ_TIMEOUT_MS = 5000;

/** Ends a call of the store after {@linkcode READ_TIMEOUT_MS}. @throws {StoreError} `away`: it did not answer in time */
export async function inReadTime<T>(
  call: (signal: AbortSignal) => Promise<T>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const time = new AbortController();
  const late = () =>
    time.abort(new StoreError(`The store has not answered within ${READ_TIMEOUT_MS / 1000} s`, { kind: "away" }));
  const timer = setTimeout(late, READ_TIMEOUT_MS);
  try {
    return await call(signal ? AbortSignal.any([signal, time.signal]) : time.signal);
  } finally {
    clearTimeout(timer);
  }
}
