import type { SkippedFrames } from "../../broker/mod.ts";
import type { Range } from "../../replication/mod.ts";
import type { AbsentFrames } from "../../stream/mod.ts";
import { countNumbers, type Received } from "../state/received.ts";

/** What a replica's readers need to know of missing numbers. */
export interface ReplicaNumbers {
  received: () => Received;
  /** Readers wait for missing frames below this number. */
  awaitedBelow: () => number;
  /** First number that may be in no file yet. */
  firstNotInFiles: () => number;
}

/** The first missing numbers from `fromSeq` to `throughSeq`, inclusive, as sessions report them. */
export function absentFrames(
  { received, awaitedBelow }: ReplicaNumbers,
  { fromSeq, throughSeq }: { fromSeq: number; throughSeq: number },
): AbsentFrames | undefined {
  const absent = received().absentFrom(fromSeq, throughSeq);
  if (absent?.kind !== "hole") return absent;
  const { start, end } = absent;
  const below = awaitedBelow();
  return start < below ? { kind: "awaited", start, end: Math.min(end, below) } : { kind: "late", start, end };
}

/**
 * The skipped numbers as live streams report them: lost ones, and those that a backfill sends or has sent. Void numbers are
 * left out.
 */
export function skippedFrames({ start, end }: Range, received: Received | undefined): SkippedFrames[] {
  const lost: SkippedFrames[] = [];
  const late: Range[] = [];
  for (let next = start; next < end;) {
    const absent = received?.absentFrom(next, end - 1);
    const here = { start: next, end: absent?.start ?? end };
    if (here.start < here.end) late.push(here);
    if (!absent) break;
    if (absent.kind === "hole") late.push(absent);
    else if (absent.kind === "lost") {
      const { start, end, reason } = absent;
      lost.push({ from_seq: start, to_seq: end - 1, count: end - start, reason });
    }
    next = absent.end;
  }
  return [...lost, ...backfillReport(late)].sort((a, b) => a.from_seq - b.from_seq);
}

/** One report for ascending ranges. */
function backfillReport(ranges: readonly Range[]): SkippedFrames[] {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  return [{ from_seq: first.start, to_seq: last.end - 1, count: countNumbers(ranges), backfill: true }];
}
