import { type Range, Ranges } from "../../base/mod.ts";
import type { BlockIndex, BlockSpan } from "./backfill_plan_index.ts";
import { type BackfillStatus, type LostRange, MAX_RANGES } from "../wire/messages.ts";

/** Why frames below the oldest of the journal are lost. */
export const LOST_PRUNED = "deleted on the boat";
/** Why frames are lost that the journal should have. */
export const LOST_UNRECORDED = "not recorded on the boat";

/** Blocks under way that the cloud has not answered; default. */
export const MAX_UNANSWERED_BLOCKS = 256;

/** What a plan is made of. */
export interface BackfillPlanOptions<B extends BlockSpan> {
  /** What the cloud misses; in any order. */
  holes: Iterable<Range>;
  index: BlockIndex<B>;
  /** Frames of which it is known why the boat has none; without overlaps. Default: none. */
  gaps?: readonly LostRange[];
  /** Blocks that may wait for the cloud's answer; default 256. */
  maxUnansweredBlocks?: number;
}

/** What is to be done next. */
export type BackfillStep<B extends BlockSpan> =
  | { readonly kind: "send"; readonly block: B }
  /** Until the cloud answers, or the journal goes on. */
  | { readonly kind: "waiting" }
  /** All that the boat has was sent and answered. */
  | { readonly kind: "finished" };

/** A block under way, and the numbers for which it was sent. */
interface Unanswered<B> {
  block: B;
  wanted: Range;
}

/**
 * In which order a boat sends the blocks that a cloud misses: the newest hole first, and in it the oldest block. A plan
 * lives as long as a connection; on it no number is asked of the index twice, so nothing is sent for ever, and what a
 * connection took with it is a hole of the next handshake. Pure.
 */
export class BackfillPlan<B extends BlockSpan> {
  readonly #index: BlockIndex<B>;
  readonly #gaps: readonly LostRange[];
  readonly #maxUnansweredBlocks: number;
  /** What the cloud misses and is not lost. */
  #missing: Ranges;
  /** What of it was not sent; lowest first. The last is the newest hole. */
  #unsent: Range[];
  #unanswered: Unanswered<B>[] = [];
  readonly #lost: LostRange[] = [];
  /** Not found, where not all is known. */
  readonly #putOff: Ranges = new Ranges();

  /** Makes a plan for the holes that a handshake told. */
  constructor(
    { holes, index, gaps = [], maxUnansweredBlocks = MAX_UNANSWERED_BLOCKS }: BackfillPlanOptions<B>,
  ) {
    this.#missing = new Ranges(holes);
    this.#unsent = [...this.#missing];
    this.#index = index;
    this.#gaps = gaps;
    this.#maxUnansweredBlocks = maxUnansweredBlocks;
  }

  /** Frames that the cloud misses and the boat has not given up. */
  get missingFrames(): number {
    return this.#missing.count;
  }

  /** Where they are, lowest first. */
  get holes(): Range[] {
    return [...this.#missing];
  }

  /** What is missing and was not found, though it may be there: to be looked for again. */
  get putOff(): Ranges {
    return this.#missing.intersect(this.#putOff);
  }

  /** Whether any of these frames is missing. */
  misses({ start, end }: Range): boolean {
    return this.#missing.touches(start, end);
  }

  /** What the boat cannot send, found so far, lowest first. The next handshake has to tell it. */
  get lost(): LostRange[] {
    const merged: LostRange[] = [];
    for (const range of this.#lost.toSorted((a, b) => a.start - b.start)) {
      const last = merged.at(-1);
      if (last?.end === range.start && last.reason === range.reason) last.end = range.end;
      else merged.push({ ...range });
    }
    return merged;
  }

  /** Says what to do. A block that it names counts as sent. */
  next(): BackfillStep<B> {
    if (this.#unanswered.length >= this.#maxUnansweredBlocks) return { kind: "waiting" };
    const knownEnd = this.#index.recordedThrough + 1;
    for (let at = this.#unsent.length - 1; at >= 0; at--) {
      const hole = this.#unsent[at];
      // Beyond what the index knows frames may still come.
      if (hole === undefined || hole.start >= knownEnd) continue;
      const { start } = hole;
      const end = Math.min(hole.end, knownEnd);
      const block = this.#index.find({ start, end });
      const found = block === undefined ? end : Math.max(start, block.baseSeq);
      if (found > start) this.#giveUp({ start, end: found });
      if (block === undefined) continue;
      const blockEnd = block.baseSeq + block.frameCount;
      this.#cut(block.baseSeq, blockEnd);
      this.#unanswered.push({ block, wanted: { start: found, end: Math.min(end, blockEnd) } });
      return { kind: "send", block };
    }
    return { kind: this.#unsent.length + this.#unanswered.length === 0 ? "finished" : "waiting" };
  }

  /**
   * Takes the cloud's word. Holes shrink; what it rejects stays a hole, but is not sent again on this connection.
   *
   * @returns the blocks that are answered with it, oldest sending first
   */
  answer({ filled, remaining, rejected }: BackfillStatus): B[] {
    const before = this.#missing;
    this.#missing = before.subtract(new Ranges(filled));
    // A list that is full may be cut short: what is not in it may be missing all the same.
    if (remaining.length < MAX_RANGES) this.#missing = this.#missing.intersect(new Ranges(remaining));
    const news = before.subtract(this.#missing);
    if (news.count > 0) this.#unsent = [...new Ranges(this.#unsent).intersect(this.#missing)];
    const refused = new Set(rejected.map(({ baseSeq }) => baseSeq));
    const isAnswered = ({ block, wanted }: Unanswered<B>) =>
      news.touches(wanted.start, wanted.end) || refused.has(block.baseSeq);
    return this.#settle(isAnswered);
  }

  /** Frames, perhaps of a block that was to be sent, turn out to be gone; or not to be found, where not all is known. */
  lose({ start, end }: Range, reason: string): void {
    if (this.#index.isComplete === false) {
      this.#cut(start, end);
      this.#putOff.add(start, end);
      const sought = this.#missing.subtract(this.#putOff);
      this.#settle(({ wanted }) => !sought.touches(wanted.start, wanted.end));
      return;
    }
    const gone = this.#missing.intersect(new Ranges([{ start, end }]));
    for (const range of gone) this.#lost.push({ ...range, reason });
    this.#missing.remove(start, end);
    this.#cut(start, end);
    this.#settle(({ wanted }) => !this.#missing.touches(wanted.start, wanted.end));
  }

  /** Forgets blocks under way. Gives them. */
  #settle(isSettled: (sent: Unanswered<B>) => boolean): B[] {
    const settled = this.#unanswered.filter(isSettled);
    if (settled.length > 0) this.#unanswered = this.#unanswered.filter((sent) => !settled.includes(sent));
    return settled.map(({ block }) => block);
  }

  /** The index has nothing for these numbers. */
  #giveUp(range: Range): void {
    for (const { reason, ...part } of this.#reasonsFor(range)) this.lose(part, reason);
  }

  *#reasonsFor(range: Range): Generator<LostRange> {
    const rest = new Ranges([range]);
    for (const gap of this.#gaps) {
      const start = Math.max(gap.start, range.start);
      const end = Math.min(gap.end, range.end);
      if (start >= end) continue;
      rest.remove(start, end);
      yield { start, end, reason: gap.reason };
    }
    const { oldestSeq = 0 } = this.#index;
    for (const { start, end } of rest) {
      if (start < oldestSeq) yield { start, end: Math.min(end, oldestSeq), reason: LOST_PRUNED };
      if (end > oldestSeq) yield { start: Math.max(start, oldestSeq), end, reason: LOST_UNRECORDED };
    }
  }

  /** Takes numbers out of what is unsent. They are near its end, as a rule. */
  #cut(start: number, end: number): void {
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
