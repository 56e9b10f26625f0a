import { Ranges } from "@vessel/gateway/base";
import type { GapReason } from "@vessel/gateway/journal";
import { MergedFrames } from "../audit/frames.ts";
import type { VerifiedBlock } from "./file.ts";

/** Missing numbers, ends included. */
export interface FoundGap {
  first: number;
  last: number;
  /** Reason in the journal; undefined without one, which is an error. */
  reason: GapReason | undefined;
}

/** Two blocks that share numbers; `one` begins first. */
export interface Overlap {
  one: VerifiedBlock;
  other: VerifiedBlock;
}

/** Result for the numbers of blocks. */
export interface NumbersFound {
  firstSeq: number;
  lastSeq: number;
  gaps: FoundGap[];
  overlaps: Overlap[];
  /** Positions where numbers go back; only where no epoch separates the runs. */
  backwards: VerifiedBlock[];
  /** First blocks of files in which numbers restart. */
  restarts: VerifiedBlock[];
}

/** First number with different frames in two blocks; undefined if they agree. @throws one of them cannot be read */
export async function firstDifference({ one, other }: Overlap): Promise<number | undefined> {
  using frames = new MergedFrames([one, other].map((block) => ({ ...block, seq: block.firstSeq })));
  const lastSeq = Math.min(one.lastSeq, other.lastSeq);
  for (;;) {
    if (frames.needsBlocks) {
      await frames.load();
      if (frames.damage[0] !== undefined) throw new Error(frames.damage[0]);
    }
    if (frames.seq > lastSeq) return undefined;
    if (frames.isContradicted) return frames.seq;
    frames.step();
  }
}

const REASONS: readonly GapReason[] = ["restart", "disk", "source"];

/** Checks the blocks of one epoch, in any order. */
export function checkRun(blocks: readonly VerifiedBlock[]): NumbersFound {
  const ordered = blocks.toSorted((a, b) => a.firstSeq - b.firstSeq || a.lastSeq - b.lastSeq);
  const held = new Ranges();
  const overlaps: Overlap[] = [];
  let open: VerifiedBlock[] = [];
  for (const block of ordered) {
    open = open.filter(({ lastSeq }) => lastSeq >= block.firstSeq);
    overlaps.push(...open.map((one) => ({ one, other: block })));
    open.push(block);
    held.add(block.firstSeq, block.lastSeq + 1);
  }
  const firstSeq = ordered[0]?.firstSeq ?? 0;
  const lastSeq = held.last ?? 0;
  const missing = new Ranges(held.holes(lastSeq, firstSeq));
  return { firstSeq, lastSeq, gaps: explain(missing, ordered), overlaps, backwards: [], restarts: [] };
}

/** Checks blocks without an epoch, whose numbers start at 1 in every run; in the order of files and offsets. */
export function checkUnnamed(blocks: readonly VerifiedBlock[]): NumbersFound {
  const found: NumbersFound = { firstSeq: Infinity, lastSeq: 0, gaps: [], overlaps: [], backwards: [], restarts: [] };
  let before: VerifiedBlock | undefined;
  for (const block of blocks) {
    const { firstSeq, lastSeq, gap, path } = block;
    found.firstSeq = Math.min(found.firstSeq, firstSeq);
    found.lastSeq = Math.max(found.lastSeq, lastSeq);
    if (before && firstSeq > before.lastSeq + 1) {
      const isDeclared = gap !== undefined && gap.firstMissing <= before.lastSeq + 1;
      found.gaps.push({ first: before.lastSeq + 1, last: firstSeq - 1, reason: isDeclared ? gap.reason : undefined });
    }
    if (before && firstSeq <= before.lastSeq) {
      const isSame = firstSeq === before.firstSeq && lastSeq === before.lastSeq && block.timeUs === before.timeUs;
      if (isSame) found.overlaps.push({ one: before, other: block });
      else if (path === before.path) found.backwards.push(block);
      else found.restarts.push(block);
    }
    before = block;
  }
  return found;
}

/** Gaps in order, split by reason. */
function explain(missing: Ranges, blocks: readonly VerifiedBlock[]): FoundGap[] {
  const gaps: FoundGap[] = [];
  let rest = missing;
  const add = (ranges: Ranges, reason: GapReason | undefined) => {
    for (const { start, end } of ranges) gaps.push({ first: start, last: end - 1, reason });
  };
  for (const reason of REASONS) {
    const declared = new Ranges();
    for (const { gap, firstSeq } of blocks) {
      if (gap?.reason === reason && gap.firstMissing < firstSeq) declared.add(gap.firstMissing, firstSeq);
    }
    add(rest.intersect(declared), reason);
    rest = rest.subtract(declared);
  }
  add(rest, undefined);
  return gaps.sort((a, b) => a.first - b.first);
}
