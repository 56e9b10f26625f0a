/** Integers from `start` to `end`, without `end`. */
export interface Range {
  /** The first number. */
  start: number;
  /** The number after the last. */
  end: number;
}

/** The limit of ranges is reached. The set was not changed. */
export class RangesFullError extends Error {
  /** `RangesFullError`. */
  override readonly name = "RangesFullError";
}

/** Limits of a set. */
export interface RangesOptions {
  /** Most ranges after {@linkcode Ranges.add} and {@linkcode Ranges.remove}; default no limit. */
  maxRanges?: number;
}

/**
 * A set of sequence numbers, stored as sorted ranges that neither overlap nor touch. Numbers are integers from 0 to 2^53 - 2.
 *
 * Adding in ascending order takes constant time; elsewhere it takes a binary search and moving the following ranges.
 *
 * @example
 * ```ts
 * import { Ranges } from "./ranges.ts";
 *
 * const held = new Ranges([{ start: 1, end: 1000 }, { start: 2001, end: 3000 }]);
 * held.add(1000, 1500);
 * held.contiguousThrough(); // 1499
 * held.holes(3000); // [{ start: 1500, end: 2001 }]
 * ```
 */
export class Ranges implements Iterable<Range> {
  /**
   * Alternating starts and ends, ascending. A number is in the set when an odd number of edges is at or
   * below it; so adding and removing are the same operation.
   */
  #edges: number[] = [];
  #count = 0;
  readonly #maxRanges: number;

  /**
   * Creates a set from ranges in any order.
   *
   * @throws {RangeError} an end before its start, or a number that is negative, above 2^53 - 1 or not an integer
   * @throws {RangesFullError} more than `maxRanges`
   */
  constructor(ranges: Iterable<Range> = [], { maxRanges = Infinity }: RangesOptions = {}) {
    this.#maxRanges = maxRanges;
    for (const { start, end } of ranges) this.add(start, end);
  }

  /**
   * Reads the output of {@linkcode Ranges.toJSON}. Ranges may be in any order and overlap.
   *
   * @throws {RangeError} not a list of `{start, end}` with integers, `start` below `end`
   * @throws {RangesFullError} more than `maxRanges`
   */
  static fromJSON(value: unknown, options: RangesOptions = {}): Ranges {
    if (!Array.isArray(value)) throw new RangeError("ranges are not a list");
    return new Ranges(value.map(rangeOf), options);
  }

  /** Number of ranges. */
  get size(): number {
    return this.#edges.length / 2;
  }

  /** Number of members. */
  get count(): number {
    return this.#count;
  }

  /** The highest member; undefined when the set is empty. */
  get last(): number | undefined {
    const end = this.#edges.at(-1);
    return end === undefined ? undefined : end - 1;
  }

  /**
   * Adds the numbers from `start` to `end`, without `end`.
   *
   * @returns how many of them are new
   * @throws {RangeError} as the constructor
   * @throws {RangesFullError} there would be more than `maxRanges`
   */
  add(start: number, end: number): number {
    return this.#set(start, end, 0);
  }

  /**
   * Removes the numbers from `start` to `end`, without `end`.
   *
   * @returns how many of them were members
   * @throws {RangeError} as the constructor
   * @throws {RangesFullError} there would be more than `maxRanges`
   */
  remove(start: number, end: number): number {
    return 0 - this.#set(start, end, 1);
  }

  /** Adds several ranges. Throws as {@linkcode Ranges.add}; the ranges before the failing one stay added. */
  addAll(ranges: Iterable<Range>): void {
    for (const { start, end } of ranges) this.add(start, end);
  }

  /** Whether the set contains the number. */
  has(number: number): boolean {
    return this.#edgesUpTo(number) % 2 === 1;
  }

  /** Whether the set contains all numbers from `start` to `end`, without `end`. */
  covers(start: number, end: number): boolean {
    if (start >= end) return true;
    const at = this.#edgesUpTo(start);
    return at % 2 === 1 && end <= (this.#edges[at] ?? 0);
  }

  /** Whether the set contains any number from `start` to `end`, without `end`. */
  touches(start: number, end: number): boolean {
    if (start >= end) return false;
    const at = this.#edgesUpTo(start);
    return at % 2 === 1 || (this.#edges[at] ?? Infinity) < end;
  }

  /** The last number that is contiguous with `from`; `from - 1` when `from` is not a member. */
  contiguousThrough(from = 1): number {
    const at = this.#edgesUpTo(from);
    return at % 2 === 1 ? (this.#edges[at] ?? from) - 1 : from - 1;
  }

  /** Missing ranges from `from` to `end`, without `end`. */
  holes(end: number, from = 1): Range[] {
    const result: Range[] = [];
    let at = this.#edgesUpTo(from);
    // After an odd number of edges `from` is inside a range: the hole begins at its end.
    let start = at % 2 === 1 ? this.#edges[at++] ?? end : from;
    while (start < end) {
      result.push({ start, end: Math.min(end, this.#edges[at] ?? end) });
      start = this.#edges[at + 1] ?? end;
      at += 2;
    }
    return result;
  }

  /** The first of {@linkcode Ranges.holes}; undefined when none is missing. Takes a binary search. */
  firstHole(end: number, from = 1): Range | undefined {
    const at = this.#edgesUpTo(from);
    const isInside = at % 2 === 1;
    const start = isInside ? this.#edges[at] ?? end : from;
    if (start >= end) return undefined;
    return { start, end: Math.min(end, this.#edges[isInside ? at + 1 : at] ?? end) };
  }

  /** Members of this set or the other. */
  union(other: Ranges): Ranges {
    return this.#combine(other, (here, there) => here || there);
  }

  /** Members of both sets. */
  intersect(other: Ranges): Ranges {
    return this.#combine(other, (here, there) => here && there);
  }

  /** Members of this set that are not in the other. */
  subtract(other: Ranges): Ranges {
    return this.#combine(other, (here, there) => here && !there);
  }

  /** The ranges, lowest first. The set must not change meanwhile. */
  *[Symbol.iterator](): Generator<Range, void, undefined> {
    for (let at = 0; at < this.#edges.length; at += 2) {
      yield { start: this.#edges[at] ?? 0, end: this.#edges[at + 1] ?? 0 };
    }
  }

  /** The ranges, lowest first, as `{start, end}`. */
  toJSON(): Range[] {
    return [...this];
  }

  /** Adds (`parity` 0) or removes (1) numbers. Returns the growth of the count. */
  #set(start: number, end: number, parity: 0 | 1): number {
    checkRange(start, end);
    if (start === end) return 0;
    const edges = this.#edges;
    const last = edges.length - 1;
    if (parity === 0 && start === edges[last]) {
      edges[last] = end;
      this.#count += end - start;
      return end - start;
    }
    const from = this.#edgesUpTo(start - 1);
    const to = this.#edgesUpTo(end);
    const left: number[] = [];
    if (from % 2 === parity) left.push(start);
    if (to % 2 === parity) left.push(end);
    const size = (edges.length - (to - from) + left.length) / 2;
    if (size > this.#maxRanges && size > this.size) {
      throw new RangesFullError(`more than ${this.#maxRanges} ranges`);
    }
    const before = this.#countWithin(start, end, { from, to });
    edges.splice(from, to - from, ...left);
    const grown = (parity === 0 ? end - start : 0) - before;
    this.#count += grown;
    return grown;
  }

  /** Number of members from `start` to `end`; the edges in between have the indexes `from` to `to`. */
  #countWithin(start: number, end: number, { from, to }: { from: number; to: number }): number {
    let count = 0;
    let since = start;
    for (let at = from; at < to; at++) {
      const edge = this.#edges[at] ?? end;
      if (at % 2 === 1) count += edge - since;
      since = edge;
    }
    return to % 2 === 1 ? count + end - since : count;
  }

  /** Number of edges at or below `number`. */
  #edgesUpTo(number: number): number {
    const edges = this.#edges;
    let [low, high] = [0, edges.length];
    if (high > 0 && (edges[high - 1] ?? 0) <= number) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((edges[middle] ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #combine(other: Ranges, keeps: (here: boolean, there: boolean) => boolean): Ranges {
    const result = new Ranges([], { maxRanges: this.#maxRanges });
    const edges = result.#edges;
    let [here, there] = [0, 0];
    for (;;) {
      const at = Math.min(this.#edges[here] ?? Infinity, other.#edges[there] ?? Infinity);
      if (at === Infinity) break;
      if (this.#edges[here] === at) here++;
      if (other.#edges[there] === at) there++;
      if (keeps(here % 2 === 1, there % 2 === 1) === (edges.length % 2 === 1)) continue;
      if (edges.length % 2 === 1) result.#count += at - (edges.at(-1) ?? at);
      edges.push(at);
    }
    if (result.size > this.#maxRanges) throw new RangesFullError(`more than ${this.#maxRanges} ranges`);
    return result;
  }
}

function checkRange(start: number, end: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    throw new RangeError(`not a range of integers: ${start} to ${end}`);
  }
}

function rangeOf(value: unknown, index: number): Range {
  const { start, end } = Object(value) as Partial<Record<keyof Range, unknown>>;
  if (typeof start !== "number" || typeof end !== "number" || start >= end) {
    throw new RangeError(`range ${index} is not {start, end} with start below end`);
  }
  return { start, end };
}
