import { type Range, Ranges } from "../../base/mod.ts";
import type { LostRange } from "../wire/messages.ts";

/** Reason of sequence numbers that never had a frame because a start skipped them. On the wire: `void`. */
export const NEVER_USED = "skipped at a start";

/** Maximum ranges of each kind; with their reasons they must fit into one message. */
const MAX_DECLARED_RANGES = 16_384;

/**
 * Sequence numbers that the boat cannot send: skipped ones and lost frames. Kept across connections and declared in
 * each handshake. Pure.
 */
export class MissingNumbers {
  readonly #maxRanges: number;
  readonly #all: Ranges = new Ranges();
  readonly #skipped: Ranges = new Ranges();
  #lost: LostRange[] = [];

  /** @param options.maxRanges maximum ranges of each kind */
  constructor({ maxRanges = MAX_DECLARED_RANGES }: { maxRanges?: number } = {}) {
    this.#maxRanges = maxRanges;
  }

  /** Skipped and lost sequence numbers. */
  get all(): Ranges {
    return this.#all;
  }

  /** Skipped sequence numbers. */
  get void(): Range[] {
    return [...this.#skipped];
  }

  /** Lost frames, lowest first. */
  get lost(): readonly LostRange[] {
    return this.#lost;
  }

  /** Lost frames with those that a backfill has found, which are added when it ends; lowest first. */
  lostWith(found: readonly LostRange[] = []): readonly LostRange[] {
    const more = found.filter(({ start, reason }) => reason !== NEVER_USED && !this.#all.has(start));
    return more.length === 0 ? this.#lost : [...this.#lost, ...more].sort((a, b) => a.start - b.start);
  }

  /** Number of lost frames. */
  get lostFrames(): number {
    return this.#all.count - this.#skipped.count;
  }

  /**
   * Adds ranges. Beyond the limit they are ignored: the next connection finds them again.
   *
   * @returns true if any of them is new
   */
  add(found: Iterable<LostRange>): boolean {
    let isNew = false;
    for (const { start, end, reason } of found) {
      for (const part of this.#all.holes(end, start)) {
        const isFull = Math.max(this.#skipped.size, this.#lost.length) >= this.#maxRanges;
        if (isFull) return isNew;
        this.#all.add(part.start, part.end);
        if (reason === NEVER_USED) this.#skipped.add(part.start, part.end);
        else this.#lost = insertRange(this.#lost, { ...part, reason });
        isNew = true;
      }
    }
    return isNew;
  }
}

/** Inserts a range into sorted ranges; adjacent ranges with the same reason are merged. */
function insertRange(ranges: readonly LostRange[], range: LostRange): LostRange[] {
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
