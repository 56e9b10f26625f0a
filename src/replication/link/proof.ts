import { Ranges } from "../../base/mod.ts";
import {
  type JournalIndex,
  newestBlockBelow,
  readNewestDigest,
  type WindowDigest,
  windowEnd,
  windowStart,
} from "../../journal/mod.ts";
import type { HandshakeResponse } from "../wire/messages.ts";

/** Sequence numbers that the cloud holds, by its response. @param missing what the boat has declared missing */
export function heldSeqs({ cursor, durableThrough, liveStartFrom, holes }: HandshakeResponse, missing: Ranges): Ranges {
  const held = new Ranges();
  held.add(1, Math.max(cursor + 1, durableThrough + 1, liveStartFrom));
  return held.subtract(new Ranges(holes)).subtract(missing);
}

/** Maximum windows searched for readable frames; more than one only if blocks are damaged. */
export const MAX_SEARCHED_WINDOWS = 8;

/** Sequence numbers within one window, both ends inclusive. */
type Seqs = Pick<WindowDigest, "firstSeq" | "lastSeq">;

/** The boat's state, to compare with the cloud's. */
interface Own {
  /** Digests that the boat has already sent. */
  sent: readonly WindowDigest[];
  /** Oldest sequence number with a frame on the boat. */
  oldest: number;
  /** Newest sequence number of the boat. */
  head: number;
}

/**
 * The sequence numbers whose digest proves that the cloud's frames are those of this boat: the highest ones that the
 * cloud holds, from the beginning of their window. A copy of a boat has other frames from the time of the copy on.
 *
 * @returns undefined if all is proven by `sent`, or there is nothing to compare
 */
export function unprovenSeqs(held: Ranges, { sent, oldest, head }: Own): Seqs | undefined {
  const run = [...held].at(-1);
  if (!run || run.end - 1 > head) return undefined;
  const lastSeq = run.end - 1;
  if (sent.some((each) => each.lastSeq === lastSeq && each.firstSeq >= run.start)) return undefined;
  const firstSeq = Math.max(run.start, windowStart(lastSeq), oldest);
  return firstSeq <= lastSeq ? { firstSeq, lastSeq } : undefined;
}

/**
 * The digest of the newest frames that the cloud holds and this boat can read. If the boat has none in the highest
 * window, for example because recording was paused, the digest is of the newest frames below.
 *
 * @param options.seqs result of {@linkcode unprovenSeqs}
 * @returns undefined if there are no such frames
 */
export async function newestDigest(
  held: Ranges,
  { seqs, oldest, ...recorded }: Pick<Own, "oldest"> & {
    seqs: Seqs | undefined;
    index: Pick<JournalIndex, "locations" | "reader">;
    epoch: Uint8Array;
  },
): Promise<WindowDigest | undefined> {
  for (let tries = 0; seqs && tries < MAX_SEARCHED_WINDOWS; tries++) {
    const digest = await readNewestDigest(seqs, recorded);
    if (digest) return digest;
    const below = await newestBlockBelow(seqs.firstSeq, { ...recorded, oldest });
    if (below === undefined) return undefined;
    const head = Math.min(windowEnd(below), seqs.firstSeq - 1);
    seqs = unprovenSeqs(held.intersect(new Ranges([{ start: 1, end: head + 1 }])), { sent: [], oldest, head });
  }
  return undefined;
}
