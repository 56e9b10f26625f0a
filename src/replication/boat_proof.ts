import { type WindowDigest, windowStart } from "../journal/mod.ts";
import type { HandshakeResponse } from "./messages.ts";
import { type Range, Ranges } from "./ranges.ts";

/** Numbers that a cloud holds, by what it asks for. @param missing what it was told it cannot have */
export function heldBy({ cursor, durableThrough, liveStartFrom, holes }: HandshakeResponse, missing: Ranges): Ranges {
  const held = new Ranges();
  held.add(1, Math.max(cursor + 1, durableThrough + 1, liveStartFrom));
  return held.subtract(new Ranges(holes)).subtract(missing);
}

/**
 * The numbers that show whether the frames of a cloud are this boat's: the highest that it holds, back to the beginning of
 * their window. A copy of a boat has other frames from the moment on at which it was made.
 *
 * @param options.sent digests that the cloud has compared where it could
 * @param options.oldest the oldest number of which the boat has a frame
 * @param options.head the newest one
 * @returns undefined: everything was compared, or there is nothing to compare
 */
export function toProve(
  held: Ranges,
  { sent, oldest, head }: { sent: readonly WindowDigest[]; oldest: number; head: number },
): Pick<WindowDigest, "firstSeq" | "lastSeq"> | undefined {
  const run = lastOf(held);
  if (!run || run.end - 1 > head) return undefined;
  const lastSeq = run.end - 1;
  if (sent.some((each) => each.lastSeq === lastSeq && each.firstSeq >= run.start)) return undefined;
  const firstSeq = Math.max(run.start, windowStart(lastSeq), oldest);
  return firstSeq <= lastSeq ? { firstSeq, lastSeq } : undefined;
}

function lastOf(ranges: Ranges): Range | undefined {
  let last: Range | undefined;
  for (const range of ranges) last = range;
  return last;
}
