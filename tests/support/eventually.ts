/** How long a condition may take before a test gives up; generous, because no test is about speed. */
const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 5;
/** A look may be a request to a busy server: what takes long is looked at less often. */
const LOOK_AT_LEAST_EVERY_MS = 50;
const SHARE_OF_WAIT = 0.1;

/**
 * Waits until `look` gives something true, and gives it back. Looks every few milliseconds at first, so that real timers
 * and sockets get their turn.
 *
 * @param what what is waited for, told when it never comes
 * @param options.deadlineMs how long at most; default a minute
 * @throws {Error} nothing came for a generous while
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  { deadlineMs = DEADLINE_MS }: { deadlineMs?: number } = {},
): Promise<T> {
  const begin = performance.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    const waitedMs = performance.now() - begin;
    if (waitedMs > deadlineMs) throw new Error(`Waited ${deadlineMs / 1000} s in vain for ${what}`);
    await pause(Math.min(Math.max(LOOK_EVERY_MS, waitedMs * SHARE_OF_WAIT), LOOK_AT_LEAST_EVERY_MS));
  }
}

/** Lets other work run. Not a way to wait for something: that is {@linkcode eventually}. */
export function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
