import type { Range } from "@vessel/gateway";

/** Most ranges that are reported: the first ones. */
const MAX_REPORTED_RANGES = 5;

/** Counts numbers that come in order, and keeps the first few ranges of them. */
export class Numbers {
  readonly #first: Range[] = [];
  #count = 0;
  #last = -1;

  get count(): number {
    return this.#count;
  }

  /** The first few ranges, ends exclusive. */
  get first(): readonly Range[] {
    return this.#first;
  }

  /** Adds a number above the previous one. */
  add(seq: number): void {
    this.#count++;
    const range = this.#first.at(-1);
    if (range && range.end === seq && this.#last === seq - 1) range.end++;
    else if (this.#first.length < MAX_REPORTED_RANGES) this.#first.push({ start: seq, end: seq + 1 });
    this.#last = seq;
  }

  /** Adds ranges above all previous numbers. */
  addRanges(ranges: Iterable<Range>): void {
    for (const { start, end } of ranges) {
      this.#count += end - start;
      if (this.#first.length < MAX_REPORTED_RANGES) this.#first.push({ start, end });
    }
  }

  /** Text for people: `12 (1-10, 15, 17)`. */
  toString(): string {
    if (this.#count === 0) return "0";
    const ranges = this.#first.map(({ start, end }) => end - start === 1 ? `${start}` : `${start}-${end - 1}`);
    const counted = this.#first.reduce((sum, { start, end }) => sum + end - start, 0);
    return `${this.#count} (${ranges.join(", ")}${counted < this.#count ? ", …" : ""})`;
  }
}
