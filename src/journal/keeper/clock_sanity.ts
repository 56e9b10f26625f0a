import type { Clock, Logger } from "../../base/mod.ts";

/** Before this nothing was recorded: a clock that says so was not set. */
export const EARLIEST_MS = Date.UTC(2020, 0, 1);
/** A clock that leaves the time that has passed by more than this has jumped. */
const JUMP_MS = 24 * 3_600_000;
/** So long a clock must go on after a jump, before it is believed again. */
const SETTLE_MS = 24 * 3_600_000;

interface Reading {
  wallMs: number;
  monoMs: number;
}

/** True when both clocks went on by about the same between two readings. */
function agree(before: Reading, after: Reading): boolean {
  return Math.abs((after.wallMs - before.wallMs) - (after.monoMs - before.monoMs)) <= JUMP_MS;
}

/**
 * The time of day, unless there is reason to doubt it: a clock that jumps a decade ahead would make every file too old,
 * and what is deleted does not come back when the clock does. After a jump it is doubted for a day, or until it is back
 * where it came from. A clock that was not set before has become right.
 */
export class ClockSanityCheck {
  readonly #clock: Clock;
  #believed: Reading | undefined;
  #doubted: { last: Reading; sinceMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since 1970; undefined while the clock is doubted. To be asked more often than once a day. */
  nowMs(): number | undefined {
    const now = { wallMs: this.#clock.wallUs() / 1000, monoMs: this.#clock.monoMs() };
    const believed = this.#believed;
    if (believed && believed.wallMs >= EARLIEST_MS && !agree(believed, now) && !this.#isSettled(now)) return undefined;
    this.#believed = now;
    this.#doubted = undefined;
    return now.wallMs;
  }

  #isSettled(now: Reading): boolean {
    const doubted = this.#doubted;
    const sinceMs = doubted && agree(doubted.last, now) ? doubted.sinceMs : now.monoMs;
    this.#doubted = { last: now, sinceMs };
    return now.monoMs - sinceMs >= SETTLE_MS;
  }
}

/** The time of day for whoever deletes by age: undefined while it cannot be believed, which is told once. */
export class BelievedClock {
  readonly #doubt: ClockSanityCheck;
  readonly #isRight: () => boolean;
  readonly #log: Logger;
  #isDoubting = false;

  /** @param options.isRight whether the wall clock can be believed at all; default: always */
  constructor(clock: Clock, { isRight = () => true, log }: { isRight?: (() => boolean) | undefined; log: Logger }) {
    this.#doubt = new ClockSanityCheck(clock);
    this.#isRight = isRight;
    this.#log = log;
  }

  /** Milliseconds since 1970, if they can be believed. To be asked more often than once a day. */
  nowMs(): number | undefined {
    if (!this.#isRight()) return undefined;
    const nowMs = this.#doubt.nowMs();
    const isDoubting = nowMs === undefined;
    if (isDoubting && !this.#isDoubting) {
      this.#log.warn("the clock has jumped: for a day no journal file is deleted for its age");
    }
    this.#isDoubting = isDoubting;
    return nowMs;
  }
}
