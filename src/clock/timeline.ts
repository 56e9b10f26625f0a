import { fitEnvelope, type Line, MAX_DRIFT, valueAt } from "./envelope.ts";

/** One point, that with the least latency, is kept of each of so many minutes with readings: the newest ones. */
const WINDOW_MS = 60_000;
const MAX_WINDOWS = 1440;
/** Readings of one clock lie within this of each other; what is further off is another clock, or was received late. */
const TOLERANCE_US = 500_000;
/** How well the drift of a settled timeline is known, over hours. */
const SETTLED_DRIFT = 5e-6;
/** From this age of the newest point on, the drift is needed to compare a reading with it. */
const NEAR_MS = 60_000;
const CONFIRMED = { readings: 5, spanMs: 30_000 } as const;
/** Longer than the 12.5 minutes after which a receiver has the leap seconds from the satellites for certain. */
const SETTLED = { readings: 60, spanMs: 900_000 } as const;

/** Readings of one source and PGN that come from one uninterrupted clock: between them the reported time never jumps. */
export class Timeline {
  readonly firstMs: number;
  /** Time that the first reading reported, microseconds since 1970. */
  readonly firstUs: number;
  #lastMs: number;
  #readings = 0;
  readonly #ms: number[] = [];
  /** Reported minus monotonic time, from the value of the first reading on: small numbers keep their digits. */
  readonly #us: number[] = [];
  readonly #counts: number[] = [];
  readonly #originUs: number;
  /** The newest point that is possibly of the envelope, whatever the drift. */
  #peak: { ms: number; us: number };
  #line: Line | undefined;

  constructor(monoMs: number, reportedUs: number) {
    this.firstMs = this.#lastMs = monoMs;
    this.firstUs = reportedUs;
    this.#originUs = reportedUs - monoMs * 1000;
    this.#peak = { ms: monoMs, us: 0 };
    this.add(monoMs, reportedUs);
  }

  get lastMs(): number {
    return this.#lastMs;
  }

  /** Number of all readings, also of those before the newest {@linkcode MAX_WINDOWS} minutes. */
  get readings(): number {
    return this.#readings;
  }

  /** True if it has enough readings to be no outlier. */
  get isConfirmed(): boolean {
    return this.#lasts(CONFIRMED);
  }

  /** True if the errors of a receiver's start must be over. */
  get isSettled(): boolean {
    return this.#lasts(SETTLED);
  }

  /** Whether a reading belongs to it. */
  accepts(monoMs: number, reportedUs: number): boolean {
    const { ms, us } = this.#peak;
    const ageMs = monoMs - ms;
    const drift = ageMs > NEAR_MS ? this.#fit().drift : 0;
    return Math.abs(reportedUs - monoMs * 1000 - this.#originUs - us - drift * ageMs * 1000) <=
      TOLERANCE_US + this.uncertaintyUs(ageMs);
  }

  /** Error of an extrapolation over a time, microseconds. */
  uncertaintyUs(ms: number): number {
    return (this.isSettled ? SETTLED_DRIFT : MAX_DRIFT) * Math.max(0, ms) * 1000;
  }

  /** Adds a reading that is no earlier than the ones before. */
  add(monoMs: number, reportedUs: number): void {
    const us = reportedUs - monoMs * 1000 - this.#originUs;
    this.#readings++;
    this.#lastMs = monoMs;
    if (us >= this.#peak.us - MAX_DRIFT * (monoMs - this.#peak.ms) * 1000) this.#peak = { ms: monoMs, us };
    const last = this.#ms.length - 1;
    if (last < 0 || Math.floor(monoMs / WINDOW_MS) !== Math.floor((this.#ms[last] ?? 0) / WINDOW_MS)) {
      this.#open(monoMs, us);
      return;
    }
    this.#counts[last] = (this.#counts[last] ?? 0) + 1;
    if (us <= (this.#us[last] ?? 0)) return;
    this.#ms[last] = monoMs;
    this.#us[last] = us;
    this.#line = undefined;
  }

  /** Offset of the line at monotonic 0, microseconds since 1970; its drift, and its spread. */
  get line(): { offsetUs: number; drift: number; spreadUs: number } {
    const line = this.#fit();
    return { offsetUs: this.#originUs + valueAt(line, 0), drift: line.drift, spreadUs: line.spreadUs };
  }

  #open(monoMs: number, us: number): void {
    if (this.#ms.length === MAX_WINDOWS) { for (const list of [this.#ms, this.#us, this.#counts]) list.shift(); }
    this.#ms.push(monoMs);
    this.#us.push(us);
    this.#counts.push(1);
    this.#line = undefined;
  }

  #lasts({ readings, spanMs }: { readings: number; spanMs: number }): boolean {
    return this.#readings >= readings && this.#lastMs - this.firstMs >= spanMs;
  }

  #fit(): Line {
    return this.#line ??= fitEnvelope({ ms: this.#ms, us: this.#us, readings: this.#counts });
  }
}

/** Orders timelines of one source, the most credible first: settled ones, confirmed ones, then the newest. */
export function byCredibility(a: Timeline, b: Timeline): number {
  return Number(b.isSettled) - Number(a.isSettled) || Number(b.isConfirmed) - Number(a.isConfirmed) ||
    b.lastMs - a.lastMs;
}
