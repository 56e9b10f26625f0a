/** A claim whose echo has not come by then will have none: a gateway that does not tell us our own frames. */
const ECHO_TIMEOUT_MS = 10_000;

/**
 * Tells the echoes of our own claims from claims of another device with the same NAME. An echo may come late, so that
 * its address has been given up already when it is heard.
 */
export class EchoedClaims {
  /** Echoes that are still to come, by address. */
  readonly #awaited = new Map<number, { count: number; untilMs: number }>();

  /** A claim of this address is about to leave. */
  expect(address: number, nowMs: number): void {
    const awaited = this.#awaited.get(address);
    const count = awaited && nowMs <= awaited.untilMs ? awaited.count : 0;
    this.#awaited.set(address, { count: count + 1, untilMs: nowMs + ECHO_TIMEOUT_MS });
  }

  /** Whether a claim of this address is one of ours that was awaited; then it is no longer. */
  take(address: number): boolean {
    const awaited = this.#awaited.get(address);
    if (!awaited || awaited.count === 0) return false;
    awaited.count--;
    return true;
  }
}
