/** How long a condition may take before a test gives up; generous, because no test is about speed. */
const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 5;

/**
 * Waits until `look` gives something true, and gives it back. Looks every few milliseconds, so that real timers and
 * sockets get their turn.
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
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`Waited ${deadlineMs / 1000} s in vain for ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}

/** Lets other work run. Not a way to wait for something: that is {@linkcode eventually}. */
export function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
