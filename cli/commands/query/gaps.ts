import type { VerifiedBlock } from "../verify/file.ts";
import { checkRun, checkUnnamed } from "../verify/numbers.ts";
import type { GapReason } from "@vessel/gateway/journal";

/** A block whose frames have numbers. */
export interface NumberedBlock extends VerifiedBlock {
  epochWord: number;
  /** Latest time of its frames that no earlier block has, or of its first frame, microseconds since 1970. */
  lastUs: number;
}

/** Missing sequence numbers, ends included. */
export interface GapRow {
  /** First four bytes of the epoch; 0 if the files name none. */
  epochWord: number;
  firstSeq: number;
  lastSeq: number;
  /** Latest time in the block before, and time of the first frame after, microseconds since 1970. */
  beforeUs: number;
  afterUs: number | undefined;
  /** Reason in the journal; undefined without one. */
  reason: GapReason | undefined;
}

/** Finds the numbers that are missing between the blocks of each epoch. Blocks without an epoch are in their order. */
export function findGaps(blocks: readonly NumberedBlock[]): GapRow[] {
  const gaps: GapRow[] = [];
  for (const [epochWord, run] of Map.groupBy(blocks, (block) => block.epochWord)) {
    const found = epochWord === 0 ? checkUnnamed(run) : checkRun(run);
    for (const { first, last, reason } of found.gaps) {
      const end = Math.max(...run.filter(({ lastSeq }) => lastSeq < first).map(({ lastSeq }) => lastSeq));
      const before = run.filter(({ lastSeq }) => lastSeq === end).map(({ lastUs }) => lastUs);
      const after = run.find(({ firstSeq }) => firstSeq > last);
      const times = { beforeUs: Math.max(...before), afterUs: after?.timeUs };
      gaps.push({ epochWord, firstSeq: first, lastSeq: last, ...times, reason });
    }
  }
  return gaps;
}
