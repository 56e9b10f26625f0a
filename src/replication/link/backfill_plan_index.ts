import type { Range } from "../../base/mod.ts";

/** The numbers that a block holds: `frameCount` of them from `baseSeq`, without a gap. */
export interface BlockSpan {
  readonly baseSeq: number;
  readonly frameCount: number;
}

/** What a backfill asks of a journal. */
export interface BlockIndex<B extends BlockSpan> {
  /** Lowest number of the journal; nothing when it is empty. */
  readonly oldestSeq: number | undefined;
  /** Up to this number, what is not found is not there. Above it, blocks may still come. */
  readonly recordedThrough: number;
  /** False where what is not found may be there all the same: then nothing is given up. Default true. */
  readonly isComplete?: boolean;
  /** The block with the lowest numbers that holds any of the range. */
  find(range: Range): B | undefined;
}

/** An index in memory. Blocks may overlap; one that lies within another is left out. */
export class BlockList<B extends BlockSpan> implements BlockIndex<B> {
  /** Both their starts and their ends rise. */
  readonly #blocks: B[] = [];
  #recordedThrough: number;

  /**
   * Makes an index.
   *
   * @param blocks in any order
   * @param options.recordedThrough default: the highest number in a block
   */
  constructor(blocks: Iterable<B> = [], { recordedThrough = 0 }: { recordedThrough?: number } = {}) {
    this.#recordedThrough = recordedThrough;
    const sorted = [...blocks].sort((a, b) => a.baseSeq - b.baseSeq || b.frameCount - a.frameCount);
    for (const block of sorted) this.add(block);
  }

  /** Lowest number; nothing without blocks. */
  get oldestSeq(): number | undefined {
    return this.#blocks[0]?.baseSeq;
  }

  /** Up to this number, what is not found is not there. */
  get recordedThrough(): number {
    return this.#recordedThrough;
  }

  /**
   * Adds the newest block. It takes the place of those that lie within it.
   *
   * @throws {RangeError} it begins before the one that was added last
   */
  add(block: B): void {
    const last = this.#blocks.at(-1);
    if (last && block.baseSeq < last.baseSeq) {
      throw new RangeError(`block ${block.baseSeq} comes after block ${last.baseSeq}`);
    }
    this.recordThrough(endOf(block) - 1);
    if (last && endOf(block) <= endOf(last)) return;
    if (last?.baseSeq === block.baseSeq) this.#blocks.pop();
    this.#blocks.push(block);
  }

  /** No more blocks will come with numbers up to this one. */
  recordThrough(seq: number): void {
    this.#recordedThrough = Math.max(this.#recordedThrough, seq);
  }

  /** The block with the lowest numbers that holds any of the range. */
  find({ start, end }: Range): B | undefined {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const block = this.#blocks[middle];
      if (block && endOf(block) <= start) low = middle + 1;
      else high = middle;
    }
    const block = this.#blocks[low];
    return block && block.baseSeq < end ? block : undefined;
  }
}

function endOf({ baseSeq, frameCount }: BlockSpan): number {
  return baseSeq + frameCount;
}
