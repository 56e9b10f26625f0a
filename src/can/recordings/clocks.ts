import type { RecordingContext } from "./recording.ts";

const DAY_US = 24 * 3600 * 1e6;
/** Largest step back that counts as out of order: recorders with several inputs write times slightly out of order. */
const MAX_DISORDER_US = 60e6;
/** A larger step back means that the clock was set. */
const MAX_JITTER_US = 1e6;

/**
 * Time of a counter that wraps: a gateway's timer, or the time of day. A value below the
 * last one belongs to the next round, unless the step back is so small that it is out of order.
 */
export class WrappingClock {
  readonly #roundUs: number;
  readonly #disorderUs: number;
  #originUs: number;
  #lastUs: number | undefined;

  /**
   * @param originUs time at which the counter was zero
   * @param roundUs period of the counter; one that never wraps (Infinity) continues when it was set back
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

/** Clock for times of day without a date, from the day of the recording's start on. */
export class DayClock {
  readonly #context: RecordingContext;
  #clock: WrappingClock | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
  }

  /** Time of hours, minutes, seconds and decimals of a second, all in digits; undefined when it is no time of day. */
  at([hours = "", minutes = "", seconds = "", fraction = ""]: readonly string[]): number | undefined {
    if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
    this.#clock ??= new WrappingClock({
      originUs: Math.floor(this.#context.startUs() / DAY_US) * DAY_US,
      roundUs: DAY_US,
    });
    const wholeSeconds = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
    return this.#clock.at(wholeSeconds * 1e6 + readFraction(fraction));
  }
}

/** Start of times that count from an unknown one: that of the recording, with a note. */
export function assumedStartUs(context: RecordingContext): number {
  context.note("times_from_start");
  return context.startUs();
}

/** Clock of a counter whose first value means `startUs`. */
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

/** Interval of frames without times: about the shortest possible one. */
const ASSUMED_STEP_US = 1000;

/** Times of frames that have none: from the recording's start, a millisecond apart. */
export class AssumedClock {
  readonly #context: RecordingContext;
  #lastUs: number | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
  }

  /** Time of the next frame. */
  next(): number {
    this.#context.note("times_assumed");
    this.#lastUs = this.#lastUs === undefined ? this.#context.startUs() : this.#lastUs + ASSUMED_STEP_US;
    return this.#lastUs;
  }
}

/** Monotonic time from recorded times: it stops while they are out of order, and continues after a clock was set. */
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

  /** Makes the next time follow the last one without an interval. */
  restart(): void {
    this.#latestUs = undefined;
  }
}

const DATE = /^(\d{4}-\d\d-\d\d)[T Z-](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/;

/**
 * Microseconds since 1970 of a date with time: ISO 8601, also with `-`, `Z` or a space between the two. UTC by
 * default. Undefined when invalid.
 */
export function readDate(text: string): number | undefined {
  const match = DATE.exec(text);
  if (!match) return undefined;
  const [, day, time, fraction = "", zone = "Z"] = match;
  const ms = Date.parse(`${day}T${time}${zone}`);
  // February 30 is invalid, but parses.
  if (Number.isNaN(ms) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day) return undefined;
  return ms * 1000 + readFraction(fraction);
}

/** Microseconds of the decimal digits of a second. */
export function readFraction(digits: string): number {
  return Number(digits.slice(0, 6).padEnd(6, "0"));
}
