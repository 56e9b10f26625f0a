import type { Logger } from "@vessel/gateway/base";
import { SAME_REQUEST_MS, STOP_SIGNALS } from "./interrupt.ts";

/** Longest time from SIGTERM, or from the end of the drain, to the end of the process; 5 seconds are documented. */
const DEADLINE_MS = 4500;

/**
 * Stops a server by SIGTERM or SIGINT. The process ends at a deadline even if something hangs. A server that drains has the
 * deadline after that; a second signal more than a second later ends the drain.
 */
export class ServerStop {
  /** A drain comes before the deadline begins. Set it when the server has started. */
  drains = false;
  readonly #stopping = new AbortController();
  readonly #skipping = new AbortController();
  readonly #log: Logger;
  #firstMs = 0;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(log: Logger) {
    this.#log = log;
    for (const signal of STOP_SIGNALS) Deno.addSignalListener(signal, () => this.#onSignal(signal));
  }

  /** Aborted at the first signal. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Waits for a drain, which the second signal ends, and begins the deadline. Does nothing if that has begun. */
  async drained(drain: ((skip: AbortSignal) => Promise<void>) | undefined): Promise<void> {
    if (this.#deadline !== undefined || !this.stopping.aborted) return;
    await drain?.(this.#skipping.signal);
    this.#beginDeadline();
  }

  #onSignal(signal: Deno.Signal): void {
    const nowMs = performance.now();
    if (!this.stopping.aborted) {
      this.#firstMs = nowMs;
      this.#log.info("stopping", { signal });
      if (!this.drains) this.#beginDeadline();
      this.#stopping.abort();
    } else if (nowMs - this.#firstMs > SAME_REQUEST_MS) this.#skipping.abort();
  }

  #beginDeadline(): void {
    this.#deadline = setTimeout(() => {
      this.#log.warn("stopped at the deadline, something did not end in time", { deadlineMs: DEADLINE_MS });
      Deno.exit(0);
    }, DEADLINE_MS);
  }
}
