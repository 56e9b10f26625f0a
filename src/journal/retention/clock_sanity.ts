import type { Clock, Logger } from "../../base/mod.ts";

/** Earlier than any recording: a clock before this time was not set. */
export const EARLIEST_MS = Date.UTC(2020, 0, 1);
/** A clock has jumped if it differs from the elapsed time by more than this. */
const JUMP_MS = 24 * 3_600_000;
/** Time without a jump after which a clock is trusted again. */
const SETTLE_MS = 24 * 3_600_000;

interface Reading {
  wallMs: number;
  monoMs: number;
}

/** True if both clocks advanced by about the same between two readings. */
function agree(before: Reading, after: Reading): boolean {
  return Math.abs((after.wallMs - before.wallMs) - (after.monoMs - before.monoMs)) <= JUMP_MS;
}

/**
 * The time of day for deletion by age, unless it is implausible: a clock that jumps a decade ahead would make every file too
 * old, and deletion cannot be undone. After a jump it is not trusted for a day, or until it returns to the previous time. A
 * clock that was unset before the jump is trusted at once.
 */
export class TrustedClock {
  readonly #clock: Clock;
  readonly #log: Logger;
  #trusted: Reading | undefined;
  #doubted: { last: Reading; sinceMs: number } | undefined;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Milliseconds since 1970; undefined while the clock is not trusted. Call it more often than once a day. */
  nowMs(): number | undefined {
    const now = { wallMs: this.#clock.wallUs() / 1000, monoMs: this.#clock.monoMs() };
    const trusted = this.#trusted;
    if (trusted && trusted.wallMs >= EARLIEST_MS && !agree(trusted, now) && !this.#isSettled(now)) return undefined;
    this.#trusted = now;
    this.#doubted = undefined;
    return now.wallMs;
  }

  #isSettled(now: Reading): boolean {
    const doubted = this.#doubted;
    if (!doubted) this.#log.warn("the clock has jumped: for a day no journal file is deleted for its age");
    const sinceMs = doubted && agree(doubted.last, now) ? doubted.sinceMs : now.monoMs;
    this.#doubted = { last: now, sinceMs };
    return now.monoMs - sinceMs >= SETTLE_MS;
  }
}
