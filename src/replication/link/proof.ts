import { type Range, Ranges } from "../../base/mod.ts";
import {
  type JournalIndex,
  newestBlockBelow,
  readNewestDigest,
  type WindowDigest,
  windowEnd,
  windowStart,
} from "../../journal/mod.ts";
import type { HandshakeResponse } from "../wire/messages.ts";

/** Numbers that a cloud holds, by what it asks for. @param missing what it was told it cannot have */
export function heldBy({ cursor, durableThrough, liveStartFrom, holes }: HandshakeResponse, missing: Ranges): Ranges {
  const held = new Ranges();
  held.add(1, Math.max(cursor + 1, durableThrough + 1, liveStartFrom));
  return held.subtract(new Ranges(holes)).subtract(missing);
}

/** Windows in which a boat looks for frames that it can read: beyond the first one only where blocks are damaged. */
export const MAX_SEARCHED_WINDOWS = 8;

/** Numbers within one window, both ends included. */
type Seqs = Pick<WindowDigest, "firstSeq" | "lastSeq">;

/** What a boat compares a cloud's numbers with. */
interface Own {
  /** Digests that the cloud has compared where it could. */
  sent: readonly WindowDigest[];
  /** The oldest number of which the boat has a frame. */
  oldest: number;
  /** The newest one. */
  head: number;
}

/**
 * The numbers that show whether the frames of a cloud are this boat's: the highest that it holds, back to the beginning of
 * their window. A copy of a boat has other frames from the moment on at which it was made.
 *
 * @returns undefined: everything was compared, or there is nothing to compare
 */
export function toProve(held: Ranges, { sent, oldest, head }: Own): Seqs | undefined {
  const run = lastOf(held);
  if (!run || run.end - 1 > head) return undefined;
  const lastSeq = run.end - 1;
  if (sent.some((each) => each.lastSeq === lastSeq && each.firstSeq >= run.start)) return undefined;
  const firstSeq = Math.max(run.start, windowStart(lastSeq), oldest);
  return firstSeq <= lastSeq ? { firstSeq, lastSeq } : undefined;
}

/**
 * The digest of the newest frames that a cloud holds and this boat can read. Where the boat has none in the highest window,
 * as after recording was paused, it is of the newest ones below.
 *
 * @param options.seqs what {@linkcode toProve} gave
 * @returns undefined: there are none
 */
export async function newestProof(
  held: Ranges,
  { seqs, oldest, ...recorded }: Pick<Own, "oldest"> & {
    seqs: Seqs | undefined;
    index: Pick<JournalIndex, "places">;
    epoch: Uint8Array;
  },
): Promise<WindowDigest | undefined> {
  for (let tries = 0; seqs && tries < MAX_SEARCHED_WINDOWS; tries++) {
    const proof = await readNewestDigest(seqs, recorded);
    if (proof) return proof;
    const below = await newestBlockBelow(seqs.firstSeq, { ...recorded, oldest });
    if (below === undefined) return undefined;
    const head = Math.min(windowEnd(below), seqs.firstSeq - 1);
    seqs = toProve(
      new Ranges(
        [...held].filter(({ start }) => start <= head).map(({ start, end }) => {
          return { start, end: Math.min(end, head + 1) };
        }),
      ),
      { sent: [], oldest, head },
    );
  }
  return undefined;
}

function lastOf(ranges: Ranges): Range | undefined {
  let last: Range | undefined;
  for (const range of ranges) last = range;
  return last;
}
