const DAY_US = 24 * 3600 * 1e6;
/** Recorders with several inputs write times a little out of order: a step back up to this is one. */
const MAX_DISORDER_US = 60e6;
/** A larger step back than this is a clock that was set. */
const MAX_JITTER_US = 1e6;

/**
 * Time of a counter that begins anew again and again: a gateway's timer, or the time of day. What is earlier than the
 * last one belongs to the next round, unless it is so little earlier that it is only out of order.
 */
export class WrappingClock {
  readonly #roundUs: number;
  readonly #disorderUs: number;
  #originUs: number;
  #lastUs: number | undefined;

  /**
   * @param originUs time at which the counter was zero
   * @param roundUs when the counter begins anew; a counter that never does (Infinity) goes on when it was set back
   */
  constructor({ originUs, roundUs }: { originUs: number; roundUs: number }) {
    this.#originUs = originUs;
    this.#roundUs = roundUs;
    this.#disorderUs = Math.min(MAX_DISORDER_US, roundUs / 4);
  }

  /** Time at which the counter stood at `us`. */
  at(us: number): number {
    const stepUs = us - (this.#lastUs ?? us);
    if (stepUs < -this.#disorderUs) this.#originUs += Number.isFinite(this.#roundUs) ? this.#roundUs : -stepUs;
    else if (stepUs > this.#roundUs - this.#disorderUs) this.#originUs -= this.#roundUs;
    this.#lastUs = us;
    return this.#originUs + us;
  }
}

/** Times of day, which begin on the day of `startUs` and pass midnight forward. */
export function dayClock(startUs: number): WrappingClock {
  return new WrappingClock({ originUs: Math.floor(startUs / DAY_US) * DAY_US, roundUs: DAY_US });
}

/** Microseconds since midnight of a time of day in digits; undefined when it is none. */
export function readTimeOfDay(
  { hours, minutes, seconds, fraction }: Record<"hours" | "minutes" | "seconds" | "fraction", string>,
): number | undefined {
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1e6 + readFraction(fraction);
}

/** A counter whose first value means `startUs`. */
export class TimerClock {
  readonly #roundUs: number;
  #startUs: number;
  #clock: WrappingClock | undefined;

  constructor(startUs: number, roundUs: number) {
    this.#startUs = startUs;
    this.#roundUs = roundUs;
  }

  at(us: number): number {
    this.#clock ??= new WrappingClock({ originUs: this.#startUs - us, roundUs: this.#roundUs });
    return this.#clock.at(us);
  }
}

/** Monotonic time made of recorded times: it stands while they are out of order, and goes on after a clock was set. */
export class RecordedMonotonic {
  #monoUs = 0;
  #latestUs: number | undefined;

  /** Milliseconds since the first time. */
  at(timeUs: number): number {
    const stepUs = timeUs - (this.#latestUs ?? timeUs);
    if (stepUs >= 0 || stepUs < -MAX_JITTER_US) this.#latestUs = timeUs;
    if (stepUs > 0) this.#monoUs += stepUs;
    return this.#monoUs / 1000;
  }

  /** The next time follows the last one at once, whatever it is. */
  restart(): void {
    this.#latestUs = undefined;
  }
}

const DATE = /^(\d{4}-\d\d-\d\d)[T Z-](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/;

/**
 * Microseconds since 1970 of a date with time: ISO 8601, with `-`, `Z` or a space between the two as well. UTC when
 * nothing else is said. Undefined when it is none.
 */
export function readDate(text: string): number | undefined {
  const match = DATE.exec(text);
  if (!match) return undefined;
  const [, day, time, fraction = "", zone = "Z"] = match;
  const ms = Date.parse(`${day}T${time}${zone}`);
  // The 30th of February is none, but parses.
  if (Number.isNaN(ms) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day) return undefined;
  return ms * 1000 + readFraction(fraction);
}

/** Microseconds of the digits behind the point of seconds. */
export function readFraction(digits: string): number {
  return Number(digits.slice(0, 6).padEnd(6, "0"));
}
