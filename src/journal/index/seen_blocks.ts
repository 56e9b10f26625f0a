import { Ranges } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";

/**
 * Frames that a reader has seen, so that none is returned twice: after a recovery a block may be in two files, and a block
 * that is being written may also be in memory. Duplicates are found by number. Files without an epoch number each run from
 * 1; there only an immediate repetition of the same block is a duplicate.
 */
export class SeenBlocks {
  readonly #byEpoch = new Map<number, Ranges>();
  #last = { seq: NaN, timeUs: NaN, count: NaN };

  /** True if a higher number of the epoch was seen, and the block's first number was not. */
  isPassed(epochWord: number, firstSeq: number): boolean {
    const seen = epochWord === 0 ? undefined : this.#byEpoch.get(epochWord);
    return seen !== undefined && (seen.last ?? 0) > firstSeq && !seen.has(firstSeq);
  }

  /** Returns the parts of a block that were not seen before, and marks them as seen. */
  fresh(block: Block, epochWord: number): Block[] {
    const { baseSeq, baseTimeUs, frameCount } = block;
    if (frameCount === 0) return [];
    if (baseSeq === undefined) return [block];
    if (epochWord === 0) {
      const { seq, timeUs, count } = this.#last;
      this.#last = { seq: baseSeq, timeUs: baseTimeUs, count: frameCount };
      return seq === baseSeq && timeUs === baseTimeUs && count === frameCount ? [] : [block];
    }
    const seen = this.#byEpoch.get(epochWord) ?? new Ranges();
    this.#byEpoch.set(epochWord, seen);
    const end = baseSeq + frameCount;
    const fresh = seen.holes(end, baseSeq);
    seen.add(baseSeq, end);
    return fresh.map((part) =>
      part.start === baseSeq && part.end === end ? block : block.slice(part.start - baseSeq, part.end - baseSeq)
    );
  }
}
