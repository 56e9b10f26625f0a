/** How recorded times become true ones. */
export interface ClockMapping {
  /** A recorded time, and the true time of the same moment, microseconds since 1970. */
  recordedUs: number;
  /** See above. */
  trueUs: number;
  /** True microseconds that pass in a recorded one. */
  rate: number;
}

/** Frames of an epoch that were recorded with a wrong clock, and what their times were in truth. */
export interface ClockSpan extends ClockMapping {
  /** First four bytes of the epoch. */
  epochWord: number;
  /** Number of the first of the frames. */
  firstSeq: number;
  /** Number of the last of the frames; undefined: it goes on. */
  lastSeq: number | undefined;
}

/** A block whose times may be corrected. */
interface TimedBlock<B> {
  /** Numbers of its frames; `endSeq` is exclusive. */
  readonly seqs: { firstSeq: number; endSeq: number };
  retimed(clocks: readonly ClockSpan[]): B;
}

/** Corrections that are kept, the newest ones: a start with a wrong clock has a few. */
export const MAX_CLOCK_SPANS = 10_000;

/** True for the rate of a clock that a mapping may have. */
export function isClockRate(rate: number): boolean {
  return rate > 0.5 && rate < 2;
}

/** The true time of a recorded one, microseconds since 1970. Order stays. */
export function trueTimeOf(recordedUs: number, mapping: ClockMapping): number {
  return Math.round(mapping.trueUs + (recordedUs - mapping.recordedUs) * mapping.rate);
}

/** Corrections of the times of a journal. The journal itself keeps what was recorded. */
export class ClockSpans {
  /** By epoch, in the order of numbers. */
  readonly #byEpoch = new Map<number, ClockSpan[]>();
  #version = 0;
  #open: ClockSpan | undefined;

  constructor(spans: Iterable<ClockSpan> = []) {
    this.replace(spans);
  }

  /** Changes with the corrections. */
  get version(): number {
    return this.#version;
  }

  /** All, epoch by epoch. */
  get all(): ClockSpan[] {
    return [...this.#byEpoch.values()].flat();
  }

  /** The one that goes on; undefined: the clock is right, as far as known. */
  get open(): ClockSpan | undefined {
    return this.#open;
  }

  /** The correction of a frame; undefined: its time is right, as far as known. */
  of(epochWord: number, seq: number): ClockSpan | undefined {
    const spans = this.#byEpoch.get(epochWord);
    if (!spans) return undefined;
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle]?.firstSeq ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    const span = spans[low - 1];
    return span && seq <= (span.lastSeq ?? Infinity) ? span : undefined;
  }

  /** The corrections of some of the frames of a range; `endSeq` is exclusive. */
  within({ epochWord, firstSeq, endSeq }: { epochWord: number; firstSeq: number; endSeq: number }): ClockSpan[] {
    const spans = this.#byEpoch.get(epochWord) ?? [];
    return spans.filter((span) => span.firstSeq < endSeq && (span.lastSeq ?? Infinity) >= firstSeq);
  }

  /** The block with its times as corrected. */
  timed<B extends TimedBlock<B>>(block: B, epochWord: number): B {
    return this.#byEpoch.size === 0 ? block : block.retimed(this.within({ epochWord, ...block.seqs }));
  }

  /** The true time of a frame, microseconds since 1970. */
  correct({ epochWord, seq, timeUs }: { epochWord: number; seq: number; timeUs: number }): number {
    const span = this.of(epochWord, seq);
    return span ? trueTimeOf(timeUs, span) : timeUs;
  }

  /**
   * Replaces the corrections of all epochs that `spans` has, and of `epochWord`. Beyond {@linkcode MAX_CLOCK_SPANS} the
   * oldest ones are left out.
   */
  update(spans: readonly ClockSpan[], epochWord?: number): void {
    const replaced = new Set([epochWord, ...spans.map((span) => span.epochWord)]);
    this.replace([...this.all.filter((span) => !replaced.has(span.epochWord)), ...spans].slice(-MAX_CLOCK_SPANS));
  }

  /** Replaces all corrections. */
  replace(spans: Iterable<ClockSpan>): void {
    this.#version++;
    this.#byEpoch.clear();
    this.#open = undefined;
    for (const span of spans) {
      if (span.lastSeq === undefined) this.#open ??= span;
      const known = this.#byEpoch.get(span.epochWord);
      if (known) known.push(span);
      else this.#byEpoch.set(span.epochWord, [span]);
    }
    for (const known of this.#byEpoch.values()) known.sort((a, b) => a.firstSeq - b.firstSeq);
  }
}
