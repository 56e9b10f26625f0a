import { type Range, Ranges } from "../../base/mod.ts";
import { type BackfillStatus, type LostRange, MAX_RANGES } from "../wire/messages.ts";

/** Reason of lost frames below the oldest frame of the journal. */
export const LOST_PRUNED = "deleted on the boat";
/** Reason of lost frames that the journal should have. */
export const LOST_UNRECORDED = "not recorded on the boat";

/** Default maximum of blocks in flight. */
export const MAX_UNANSWERED_BLOCKS = 256;

/** Options of {@linkcode BackfillPlan}. */
export interface BackfillPlanOptions<B extends BlockSpan> {
  /** Ranges that the cloud is missing, in any order. */
  holes: Iterable<Range>;
  index: BlockIndex<B>;
  /** Maximum blocks in flight; default 256. */
  maxUnansweredBlocks?: number;
}

/** The next step of a backfill. */
export type BackfillStep<B extends BlockSpan> =
  | { readonly kind: "send"; readonly block: B }
  /** Until the cloud answers or the journal continues. */
  | { readonly kind: "waiting" }
  /** All blocks are sent and answered. */
  | { readonly kind: "finished" };

/** A block in flight, and the missing sequence numbers that it fills. */
interface Unanswered<B> {
  block: B;
  wanted: Range;
}

/**
 * The order in which a boat sends the blocks that the cloud is missing: the newest hole first, within it the oldest
 * block first. A plan lasts as long as a connection and requests no sequence number twice from the index, so it ends.
 * Blocks lost with a connection are holes again in the next handshake. Pure.
 */
export class BackfillPlan<B extends BlockSpan> {
  readonly #index: BlockIndex<B>;
  readonly #maxUnansweredBlocks: number;
  /** Missing on the cloud and not lost. */
  #missing: Ranges;
  /** The part of it that is not sent, lowest first. */
  #unsent: Range[];
  #unanswered: Unanswered<B>[] = [];
  readonly #lost: LostRange[] = [];
  /** Not found in an incomplete index. */
  readonly #deferred: Ranges = new Ranges();

  constructor(
    { holes, index, maxUnansweredBlocks = MAX_UNANSWERED_BLOCKS }: BackfillPlanOptions<B>,
  ) {
    this.#missing = new Ranges(holes);
    this.#unsent = [...this.#missing];
    this.#index = index;
    this.#maxUnansweredBlocks = maxUnansweredBlocks;
  }

  /** Number of frames missing on the cloud and not lost. */
  get missingFrames(): number {
    return this.#missing.count;
  }

  /** Ranges of these frames, lowest first. */
  get holes(): Range[] {
    return [...this.#missing];
  }

  /** Missing frames that were not found but may exist: search again later. */
  get deferred(): Ranges {
    return this.#missing.intersect(this.#deferred);
  }

  /** True if any of these frames is missing. */
  misses({ start, end }: Range): boolean {
    return this.#missing.touches(start, end);
  }

  /** Lost frames found so far, lowest first, to be declared in the next handshake. */
  get lost(): LostRange[] {
    const merged: LostRange[] = [];
    for (const range of this.#lost.toSorted((a, b) => a.start - b.start)) {
      const last = merged.at(-1);
      if (last?.end === range.start && last.reason === range.reason) last.end = range.end;
      else merged.push({ ...range });
    }
    return merged;
  }

  /** Returns the next step; its block counts as sent. */
  next(): BackfillStep<B> {
    if (this.#unanswered.length >= this.#maxUnansweredBlocks) return { kind: "waiting" };
    const recordedEnd = this.#index.recordedThrough + 1;
    for (let at = this.#unsent.length - 1; at >= 0; at--) {
      const hole = this.#unsent[at];
      // Above `recordedThrough`, blocks may follow.
      if (hole === undefined || hole.start >= recordedEnd) continue;
      const { start } = hole;
      const end = Math.min(hole.end, recordedEnd);
      const block = this.#index.find({ start, end });
      const found = block === undefined ? end : Math.max(start, block.baseSeq);
      if (found > start) this.#giveUp({ start, end: found });
      if (block === undefined) continue;
      const blockEnd = block.baseSeq + block.frameCount;
      this.#removeUnsent(block.baseSeq, blockEnd);
      this.#unanswered.push({ block, wanted: { start: found, end: Math.min(end, blockEnd) } });
      return { kind: "send", block };
    }
    return { kind: this.#unsent.length + this.#unanswered.length === 0 ? "finished" : "waiting" };
  }

  /**
   * Applies a status of the cloud. Rejected blocks remain holes but are not sent again on this connection.
   *
   * @returns the answered blocks, in order of sending
   */
  answer({ filled, remaining, rejected }: BackfillStatus): B[] {
    const before = this.#missing;
    this.#missing = before.subtract(new Ranges(filled));
    // A full list may be truncated: ranges beyond it may be missing, too.
    if (remaining.length < MAX_RANGES) this.#missing = this.#missing.intersect(new Ranges(remaining));
    const newlyFilled = before.subtract(this.#missing);
    if (newlyFilled.count > 0) this.#unsent = [...new Ranges(this.#unsent).intersect(this.#missing)];
    const refused = new Set(rejected.map(({ baseSeq }) => baseSeq));
    const isAnswered = ({ block, wanted }: Unanswered<B>) =>
      newlyFilled.touches(wanted.start, wanted.end) || refused.has(block.baseSeq);
    return this.#settle(isAnswered);
  }

  /** Declares frames lost, or defers them if the index is incomplete. */
  lose({ start, end }: Range, reason: string): void {
    if (this.#index.isComplete === false) {
      this.#removeUnsent(start, end);
      this.#deferred.add(start, end);
      const searched = this.#missing.subtract(this.#deferred);
      this.#settle(({ wanted }) => !searched.touches(wanted.start, wanted.end));
      return;
    }
    const gone = this.#missing.intersect(new Ranges([{ start, end }]));
    for (const range of gone) this.#lost.push({ ...range, reason });
    this.#missing.remove(start, end);
    this.#removeUnsent(start, end);
    this.#settle(({ wanted }) => !this.#missing.touches(wanted.start, wanted.end));
  }

  /** Removes blocks from those in flight, and returns them. */
  #settle(isSettled: (sent: Unanswered<B>) => boolean): B[] {
    const settled = this.#unanswered.filter(isSettled);
    if (settled.length > 0) this.#unanswered = this.#unanswered.filter((sent) => !settled.includes(sent));
    return settled.map(({ block }) => block);
  }

  /** Handles sequence numbers without a block in the index. */
  #giveUp({ start, end }: Range): void {
    const { oldestSeq = 0 } = this.#index;
    if (start < oldestSeq) this.lose({ start, end: Math.min(end, oldestSeq) }, LOST_PRUNED);
    if (end > oldestSeq) this.lose({ start: Math.max(start, oldestSeq), end }, LOST_UNRECORDED);
  }

  /** Removes sequence numbers from the unsent ones; searches from the end, where they usually are. */
  #removeUnsent(start: number, end: number): void {
    for (let at = this.#unsent.length - 1; at >= 0; at--) {
      const hole = this.#unsent[at];
      if (hole === undefined || hole.end <= start) return;
      if (hole.start >= end) continue;
      const left: Range[] = [];
      if (hole.start < start) left.push({ start: hole.start, end: start });
      if (hole.end > end) left.push({ start: end, end: hole.end });
      this.#unsent.splice(at, 1, ...left);
    }
  }
}

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
