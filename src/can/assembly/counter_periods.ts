/**
 * Fragments further apart than this arrive in the order of sending. Kernel queues and USB adapters swap frames that
 * are a millisecond or two apart; the rest is margin, below the 40 ms between two messages with the same counter.
 */
export const REORDER_MS = 20;
/** Most counters with known periods per bus; beyond it the oldest entry is removed. */
const MAX_COUNTERS = 4096;
/** Fraction of its period after which a message is over: timers jitter, and the period may be shorter than observed. */
const OVER_AFTER = 0.75;
/** Growth of the shortest period with each message, so that one outlier does not count forever. */
const GROWTH = 1 + 1 / 32;

interface Period {
  beganMs: number;
  /** Shortest time between two messages; Infinity before the second one. */
  periodMs: number;
}

/**
 * Periods of the messages with the same source, PGN and sequence counter. They distinguish two cases that look the same by
 * the fragments: a slow sender that continues its message, and the end of the next message, whose beginning was lost
 * together with the end of this one. No message lasts until the next one with its counter is due.
 */
export class CounterPeriods {
  readonly #periods = new Map<number, Period>();

  /** Records the arrival of a first fragment. */
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
    // A duplicated frame is not a period.
    if (sinceMs > REORDER_MS) known.periodMs = Math.min(sinceMs, known.periodMs * GROWTH);
  }

  /**
   * Whether the message that began last must be over; false while its period is unknown. Its first fragment may have
   * been the last one to arrive.
   */
  isOver(key: number, monoMs: number): boolean {
    const known = this.#periods.get(key);
    return known !== undefined && monoMs - known.beganMs > known.periodMs * OVER_AFTER - REORDER_MS;
  }
}
