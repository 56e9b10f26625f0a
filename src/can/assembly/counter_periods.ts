/**
 * Fragments further apart than this came in the order in which they were sent. Kernel queues and USB adapters swap what
 * lies a millisecond or two apart; the rest is margin, still below the 40 ms between two messages with one counter.
 */
export const REORDER_MS = 20;
/** Counters whose period is remembered for one bus; beyond that the one known longest is forgotten. */
const MAX_COUNTERS = 4096;
/** Part of its period after which a message is over: timers jitter, and the shortest period may not have been seen. */
const OVER_AFTER = 0.75;
/** How much the shortest period may grow with each message, so that one odd interval does not count for ever. */
const GROWTH = 1 + 1 / 32;

interface Period {
  beganMs: number;
  /** Shortest time between two messages, Infinity until there were two. */
  periodMs: number;
}

/**
 * How often the messages of each source, PGN and sequence counter come round. It tells apart what one fragment after
 * the other cannot: a slow sender that goes on with its message, and the rest of the next message, whose beginning was
 * lost just as the rest of this one. No message lasts until the next one with its counter is due.
 */
export class CounterPeriods {
  readonly #periods = new Map<number, Period>();

  /** Notes that a first fragment came. */
  begin(key: number, monoMs: number): void {
    const known = this.#periods.get(key);
    if (!known) {
      if (this.#periods.size >= MAX_COUNTERS) {
        const [oldest] = this.#periods.keys();
        if (oldest !== undefined) this.#periods.delete(oldest);
      }
      this.#periods.set(key, { beganMs: monoMs, periodMs: Infinity });
      return;
    }
    const sinceMs = monoMs - known.beganMs;
    known.beganMs = monoMs;
    // A frame that came twice is no period.
    if (sinceMs > REORDER_MS) known.periodMs = Math.min(sinceMs, known.periodMs * GROWTH);
  }

  /**
   * Whether the message that began last must be over; false while its period is not known. Its first fragment may have
   * been the last of all to come.
   */
  isOver(key: number, monoMs: number): boolean {
    const known = this.#periods.get(key);
    return known !== undefined && monoMs - known.beganMs > known.periodMs * OVER_AFTER - REORDER_MS;
  }
}
