import type { Range } from "../../base/mod.ts";

/** Sequence numbers of a block: `frameCount` consecutive ones from `baseSeq`. */
export interface BlockSpan {
  readonly baseSeq: number;
  readonly frameCount: number;
}

/** The blocks of a journal, for a backfill. */
export interface BlockIndex<B extends BlockSpan> {
  /** Lowest sequence number of the journal; undefined if empty. */
  readonly oldestSeq: number | undefined;
  /** Up to this sequence number the journal is complete; above, blocks may follow. */
  readonly recordedThrough: number;
  /** False if files could not be read: frames that are not found may exist and are not declared lost. Default true. */
  readonly isComplete?: boolean;
  /** The block with the lowest sequence numbers that overlaps the range. */
  find(range: Range): B | undefined;
}

/** An index in memory. Blocks may overlap; one that is contained in another is left out. */
export class BlockList<B extends BlockSpan> implements BlockIndex<B> {
  /** Sorted by both start and end. */
  readonly #blocks: B[] = [];
  #recordedThrough: number;

  /**
   * @param blocks in any order
   * @param options.recordedThrough default: the highest sequence number of a block
   */
  constructor(blocks: Iterable<B> = [], { recordedThrough = 0 }: { recordedThrough?: number } = {}) {
    this.#recordedThrough = recordedThrough;
    const sorted = [...blocks].sort((a, b) => a.baseSeq - b.baseSeq || b.frameCount - a.frameCount);
    for (const block of sorted) this.add(block);
  }

  get oldestSeq(): number | undefined {
    return this.#blocks[0]?.baseSeq;
  }

  get recordedThrough(): number {
    return this.#recordedThrough;
  }

  /**
   * Adds the newest block, which replaces a block with the same start if it is longer.
   *
   * @throws {RangeError} it begins before the last added block
   */
  add(block: B): void {
    const last = this.#blocks.at(-1);
    if (last && block.baseSeq < last.baseSeq) {
      throw new RangeError(`block ${block.baseSeq} added after block ${last.baseSeq}`);
    }
    this.recordThrough(endOf(block) - 1);
    if (last && endOf(block) <= endOf(last)) return;
    if (last?.baseSeq === block.baseSeq) this.#blocks.pop();
    this.#blocks.push(block);
  }

  /** Declares that no blocks up to this sequence number will follow. */
  recordThrough(seq: number): void {
    this.#recordedThrough = Math.max(this.#recordedThrough, seq);
  }

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
