import { Ranges } from "@vessel/gateway/base";
import type { GapReason } from "@vessel/gateway/journal";
import { MergedFrames } from "../audit/frames.ts";
import type { VerifiedBlock } from "./file.ts";

/** Numbers that are not there, ends included. */
export interface FoundGap {
  first: number;
  last: number;
  /** Why, as the journal tells; undefined: nothing tells it, which is an error. */
  reason: GapReason | undefined;
}

/** Two blocks that share numbers, the one that begins first in front. */
export interface Overlap {
  one: VerifiedBlock;
  other: VerifiedBlock;
}

/** What the numbers of blocks show. */
export interface NumbersFound {
  firstSeq: number;
  lastSeq: number;
  gaps: FoundGap[];
  overlaps: Overlap[];
  /** Positions where numbers go back; only where no epoch separates the runs. */
  backwards: VerifiedBlock[];
  /** Blocks with which numbers begin anew, in a file of its own. */
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

/** Looks at the blocks of one epoch, in whatever order and files they lie. */
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

/** Looks at blocks of software that names no epoch, and counts from 1 in every run; in the order of files and places. */
export function checkUnnamed(blocks: readonly VerifiedBlock[]): NumbersFound {
  const found: NumbersFound = { firstSeq: Infinity, lastSeq: 0, gaps: [], overlaps: [], backwards: [], restarts: [] };
  let before: VerifiedBlock | undefined;
  for (const block of blocks) {
    const { firstSeq, lastSeq, gap, path } = block;
    found.firstSeq = Math.min(found.firstSeq, firstSeq);
    found.lastSeq = Math.max(found.lastSeq, lastSeq);
    if (before && firstSeq > before.lastSeq + 1) {
      const isTold = gap !== undefined && gap.firstMissing <= before.lastSeq + 1;
      found.gaps.push({ first: before.lastSeq + 1, last: firstSeq - 1, reason: isTold ? gap.reason : undefined });
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

/** Gaps in order, each as far as one reason goes. */
function explain(missing: Ranges, blocks: readonly VerifiedBlock[]): FoundGap[] {
  const gaps: FoundGap[] = [];
  let rest = missing;
  const add = (ranges: Ranges, reason: GapReason | undefined) => {
    for (const { start, end } of ranges) gaps.push({ first: start, last: end - 1, reason });
  };
  for (const reason of REASONS) {
    const told = new Ranges();
    for (const { gap, firstSeq } of blocks) {
      if (gap?.reason === reason && gap.firstMissing < firstSeq) told.add(gap.firstMissing, firstSeq);
    }
    add(rest.intersect(told), reason);
    rest = rest.subtract(told);
  }
  add(rest, undefined);
  return gaps.sort((a, b) => a.first - b.first);
}
