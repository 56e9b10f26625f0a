import { pause } from "../../base/mod.ts";

/** Waits for a promise: at most `ms` milliseconds, and until the signal is aborted. Returns why the wait ended. */
export async function waitAtMost(
  done: Promise<unknown>,
  { ms, signal }: { ms: number; signal?: AbortSignal | undefined },
): Promise<"done" | "timeout" | "aborted"> {
  const over = new AbortController();
  const timeout = pause(ms, AbortSignal.any([over.signal, ...signal ? [signal] : []]))
    .then(() => "timeout" as const, () => "aborted" as const);
  try {
    return await Promise.race([done.then(() => "done" as const), timeout]);
  } finally {
    over.abort();
  }
}

/** A wait that can be ended early, even before it begins. */
export class WakeUp {
  #isDue = false;
  #resolve: () => void = () => {};

  /** Waits for {@linkcode WakeUp.wake}; at most `ms` milliseconds, default without limit. */
  async wait(ms?: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resolve = resolve;
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    if (this.#isDue) resolve();
    await promise;
    clearTimeout(timer);
    this.#isDue = false;
  }

  /** Ends the current wait, or the next one. */
  wake(): void {
    this.#isDue = true;
    this.#resolve();
  }
}
