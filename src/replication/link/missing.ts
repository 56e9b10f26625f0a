import { type Range, Ranges } from "../../base/mod.ts";
import type { LostRange } from "../wire/messages.ts";

/** Why numbers are missing that never had a frame: a start has skipped them. On the wire: `void`. */
export const NEVER_USED = "skipped at a start";

/** Most ranges of each kind that are told at once; with their reasons they must fit into one message. */
const MAX_TOLD_RANGES = 16_384;

/**
 * What a boat knows that it cannot send: numbers without a frame, and frames that are lost. It outlasts connections, and
 * each handshake tells it. Pure.
 */
export class MissingNumbers {
  readonly #maxRanges: number;
  readonly #all: Ranges = new Ranges();
  readonly #skipped: Ranges = new Ranges();
  #lost: LostRange[] = [];

  /** @param options.maxRanges most ranges of each kind */
  constructor({ maxRanges = MAX_TOLD_RANGES }: { maxRanges?: number } = {}) {
    this.#maxRanges = maxRanges;
  }

  /** All of them. */
  get all(): Ranges {
    return this.#all;
  }

  /** Numbers that never had a frame. */
  get void(): Range[] {
    return [...this.#skipped];
  }

  /** Frames that are gone, lowest first. */
  get lost(): readonly LostRange[] {
    return this.#lost;
  }

  /** Count of the frames that are gone. */
  get lostFrames(): number {
    return this.#all.count - this.#skipped.count;
  }

  /**
   * Notes what was found missing. Beyond a limit nothing is noted: it is found again on the next connection.
   *
   * @returns whether any of it is news
   */
  note(found: Iterable<LostRange>): boolean {
    let isNews = false;
    for (const { start, end, reason } of found) {
      for (const part of this.#all.holes(end, start)) {
        const isFull = Math.max(this.#skipped.size, this.#lost.length) >= this.#maxRanges;
        if (isFull) return isNews;
        this.#all.add(part.start, part.end);
        if (reason === NEVER_USED) this.#skipped.add(part.start, part.end);
        else this.#lost = withRange(this.#lost, { ...part, reason });
        isNews = true;
      }
    }
    return isNews;
  }
}

/** Ranges, lowest first, with one more; neighbours for the same reason become one. */
function withRange(ranges: readonly LostRange[], range: LostRange): LostRange[] {
  const at = ranges.findLastIndex(({ start }) => start < range.start) + 1;
  const [before, after] = [ranges[at - 1], ranges[at]];
  const joinsBefore = before?.end === range.start && before.reason === range.reason;
  const joinsAfter = after?.start === range.end && after.reason === range.reason;
  const joined = {
    ...range,
    start: joinsBefore ? before.start : range.start,
    end: joinsAfter ? after.end : range.end,
  };
  return ranges.toSpliced(at - Number(joinsBefore), Number(joinsBefore) + Number(joinsAfter), joined);
}
