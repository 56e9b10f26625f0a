import type { Logger } from "../base/mod.ts";

/** Refusals that are remembered. */
const MAX_KNOWN = 1000;

/** Logs refused peers, once for each address and reason. */
export class RefusalLog {
  readonly #message: string;
  readonly #log: Logger;
  readonly #known = new Set<string>();

  /** @param message of each line */
  constructor(message: string, log: Logger) {
    this.#message = message;
    this.#log = log;
  }

  /** Logs a refusal, unless it has been logged already. @param refusal.address without the port */
  add({ address, reason }: { address: string; reason: string }): void {
    const key = `${address} ${reason}`;
    if (this.#known.has(key)) return;
    this.#log.warn(this.#message, { address, reason });
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(key);
  }
}
