/** After this time an echo is no longer expected: some gateways do not echo sent frames. */
const ECHO_TIMEOUT_MS = 10_000;

/**
 * Distinguishes echoes of own claims from claims of another device with the same NAME. An echo may arrive after its
 * address has been released.
 */
export class EchoedClaims {
  /** Pending echoes by address. */
  readonly #awaited = new Map<number, { count: number; untilMs: number }>();

  /** A claim of this address is about to be sent. */
  expect(address: number, nowMs: number): void {
    const awaited = this.#awaited.get(address);
    const count = awaited && nowMs <= awaited.untilMs ? awaited.count : 0;
    this.#awaited.set(address, { count: count + 1, untilMs: nowMs + ECHO_TIMEOUT_MS });
  }

  /** True if this is the echo of an own claim. Consumes it. */
  consume(address: number): boolean {
    const awaited = this.#awaited.get(address);
    if (!awaited || awaited.count === 0) return false;
    awaited.count--;
    return true;
  }
}
