import type { SkippedFrames } from "../../broker/mod.ts";
import type { Range } from "../../replication/mod.ts";
import type { AbsentFrames } from "../../stream/mod.ts";
import type { Received } from "../state/received.ts";

/** What a replica's readers have to know of numbers that are not here. */
export interface ReplicaNumbers {
  /** Which are here, and why others are not. */
  received: () => Received;
  /** Readers wait for what is missing below this number. */
  awaitedBelow: () => number;
  /** The first number that may be in no file yet. */
  firstNotInFiles: () => number;
}

/** What a session is told of the first numbers that are not here, from one number to another, both included. */
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
 * What live streams are told of numbers that they pass over: what is lost, and what comes, or has come, by backfill.
 * Numbers that never had a frame are not told.
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
    else if (absent.kind === "lost") lost.push({ ...skippedOf(absent), reason: absent.reason });
    next = absent.end;
  }
  return [...lost, ...asBackfill(late)].sort((a, b) => a.from_seq - b.from_seq);
}

/** Ranges, lowest first, as one report. */
function asBackfill(ranges: readonly Range[]): SkippedFrames[] {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  const count = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  return [{ ...skippedOf({ start: first.start, end: last.end }), count, backfill: true }];
}

function skippedOf({ start, end }: Range): SkippedFrames {
  return { from_seq: start, to_seq: end - 1, count: end - start };
}
