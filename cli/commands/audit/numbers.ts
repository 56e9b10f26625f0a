import type { Range } from "@vessel/gateway";

/** Ranges that are told, the first ones. */
const TOLD_RANGES = 5;

/** Counts numbers that come in order, and keeps the first few ranges of them. */
export class Numbers {
  readonly #first: Range[] = [];
  #count = 0;
  #last = -1;

  /** How many came. */
  get count(): number {
    return this.#count;
  }

  /** The first few ranges, ends exclusive. */
  get first(): readonly Range[] {
    return this.#first;
  }

  /** Takes a number that is above the one before. */
  add(seq: number): void {
    this.#count++;
    const range = this.#first.at(-1);
    if (range && range.end === seq && this.#last === seq - 1) range.end++;
    else if (this.#first.length < TOLD_RANGES) this.#first.push({ start: seq, end: seq + 1 });
    this.#last = seq;
  }

  /** Takes ranges that lie above what came before. */
  addRanges(ranges: Iterable<Range>): void {
    for (const { start, end } of ranges) {
      this.#count += end - start;
      if (this.#first.length < TOLD_RANGES) this.#first.push({ start, end });
    }
  }

  /** As a person reads it: `12 (1-10, 15, 17)`. */
  toString(): string {
    if (this.#count === 0) return "0";
    const told = this.#first.map(({ start, end }) => end - start === 1 ? `${start}` : `${start}-${end - 1}`);
    const counted = this.#first.reduce((sum, { start, end }) => sum + end - start, 0);
    return `${this.#count} (${told.join(", ")}${counted < this.#count ? ", …" : ""})`;
  }
}
