/** A header with the time has whole seconds. */
const HEADER_ERROR_MS = 500;
/**
 * The least delayed frame of the last one or two of these counts: the boat's clock may be set back, and the phone's forward.
 */
const WINDOW_MS = 30_000;

/**
 * The server's time: ages of values must not depend on a wrong clock of the phone. Live frames give it to their delay, a
 * reply's header to half a second.
 */
export class ServerClock {
  readonly #other: ServerClock | undefined;
  #aheadMs: number | undefined;
  #isFromFrame = false;
  #window = { beginMs: -Infinity, aheadMs: -Infinity, beforeMs: -Infinity };
  readonly #now: () => number;

  /**
   * @param other counts until something is learnt: a boat in a cloud has a clock of its own
   * @param now this device's clock, milliseconds since 1970
   */
  constructor(other?: ServerClock, now: () => number = Date.now) {
    this.#other = other;
    this.#now = now;
  }

  /** Now, by the server's clock, milliseconds since 1970. */
  get nowMs(): number {
    return this.#aheadMs === undefined && this.#other ? this.#other.nowMs : this.#now() + (this.#aheadMs ?? 0);
  }

  /** Learns from the header `Date` of a reply. */
  replied(date: string | null): void {
    const sentMs = Date.parse(date ?? "") + HEADER_ERROR_MS;
    if (this.#isFromFrame || Number.isNaN(sentMs)) return;
    const aheadMs = sentMs - this.#now();
    if (this.#aheadMs === undefined || Math.abs(aheadMs - this.#aheadMs) > 2 * HEADER_ERROR_MS) this.#aheadMs = aheadMs;
  }

  /** Learns from a live frame: it cannot be younger than now. */
  received(frameMs: number): void {
    const nowMs = this.#now();
    const aheadMs = frameMs - nowMs;
    const { beginMs, aheadMs: bestMs, beforeMs } = this.#window;
    const isOver = Math.abs(nowMs - beginMs) > WINDOW_MS;
    this.#window = isOver
      ? { beginMs: nowMs, aheadMs, beforeMs: bestMs }
      : { beginMs, aheadMs: Math.max(bestMs, aheadMs), beforeMs };
    this.#aheadMs = Math.max(this.#window.aheadMs, this.#window.beforeMs);
    this.#isFromFrame = true;
  }
}
