import { type Range, Ranges } from "../base/mod.ts";
import type { BusReport } from "./report.ts";

/** What a cloud knows of an epoch of a boat. Ends of ranges are exclusive. */
export interface CloudEpoch {
  /** First four bytes of the epoch. */
  epochWord: number;
  /** Newest number that the boat has declared. */
  headSeq: number;
  /** Numbers whose frames are synced to the cloud's disk. */
  durable: readonly Range[];
  /** Numbers in the object store; without one, on the disk. */
  stored: Ranges;
  /** Numbers that the boat never assigned. */
  void: readonly Range[];
  /** Numbers whose frames the boat no longer has. */
  lost: readonly (Range & { reason: string })[];
  /** Numbers that the boat may still send. */
  holes: readonly Range[];
}

/** The part of an epoch that a ledger is of. */
export interface CloudPart {
  epoch: CloudEpoch;
  /** First and last number. */
  from: number;
  to: number;
  /** Numbers of the frames that were found in files. */
  found: Ranges;
}

/**
 * The messages of a boat as its cloud has them, of all buses together: the cloud does not know which bus a missing message
 * is of. Frames are counted on the boat only. Pure.
 */
export function messagesInCloud(parts: readonly CloudPart[]): Pick<BusReport, "messages" | "closed" | "off"> {
  const messages = { numbered: 0, recorded: 0, acknowledged: 0, stored: 0 };
  const missing: Record<string, number> = {};
  for (const { epoch, from, to, found: all } of parts) {
    const range = new Ranges(to < from ? [] : [{ start: from, end: to + 1 }]);
    const within = (ranges: Iterable<Range>) => new Ranges(ranges).intersect(range);
    const found = within(all);
    const durable = within(epoch.durable);
    const here = found.union(durable);
    messages.numbered += range.count - within(epoch.void).subtract(here).count;
    messages.recorded += found.count;
    messages.acknowledged += durable.count;
    messages.stored += epoch.stored.intersect(range).count;
    const reasons: [string, Ranges][] = [
      ["link", within(epoch.holes).subtract(here)],
      ["pruned", durable.subtract(found)],
      ...epoch.lost.map((each): [string, Ranges] => [each.reason, within([each]).subtract(here)]),
    ];
    for (const [reason, { count }] of reasons) if (count > 0) missing[reason] = (missing[reason] ?? 0) + count;
  }
  const explained = Object.values(missing).reduce((sum, count) => sum + count, 0);
  const off = messages.numbered - messages.recorded - explained;
  return { messages: { ...messages, missing }, closed: off === 0, off: { frames: 0, messages: off } };
}
