import { Ranges } from "../../base/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import type { InstanceSummary } from "../../cloud/mod.ts";
import { joined, NOT_SENT, type Proof } from "../proof.ts";

/** What the proof of a boat is made from, in a cloud. */
export type CloudProofSource = Pick<
  InstanceSummary,
  | "connected"
  | "epoch"
  | "boatHeadSeq"
  | "voidCount"
  | "durableCount"
  | "holes"
  | "lost"
  | "formerEpochs"
  | "lastSeenMs"
  | "vanished"
  | "recording"
>;

/** The counts of a boat's proof. */
export function framesInCloud(summary: CloudProofSource) {
  const { seen, in_cloud, on_the_way, missing, earlier } = proofInCloud(summary);
  const lost = [...missing, ...earlier ?? []].reduce((sum, each) => sum + each.count, 0);
  return { seen, in_cloud: in_cloud ?? 0, on_the_way: on_the_way.cloud, missing: lost };
}

/** The proof of a boat as its cloud knows it: of the whole epoch, up to the boat's last message. Pure. */
export function proofInCloud(summary: CloudProofSource): Proof {
  const { connected, epoch, boatHeadSeq, voidCount, durableCount, holes, lost } = summary;
  const { formerEpochs, lastSeenMs, vanished, recording } = summary;
  const seen = boatHeadSeq - voidCount;
  const countOf = (ranges: readonly { start: number; end: number }[]) =>
    ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  const gone = countOf(vanished);
  const missing = [
    ...lost.map(({ start, end, reason }) => ({ count: end - start, where: "cloud" as const, reason })),
    { count: gone, where: "cloud" as const, reason: "disappeared from the cloud's disk" },
    {
      count: new Ranges(holes).subtract(new Ranges(vanished)).count,
      where: "cloud" as const,
      reason: connected ? "asked for again" : "the boat is away",
    },
  ];
  const rest = Math.max(0, seen - durableCount - missing.reduce((sum, each) => sum + each.count, 0));
  if (recording.kind === "failing") {
    missing.push({ count: rest, where: "cloud", reason: `the cloud's disk fails: ${recording.reason}` });
  }
  return {
    epoch: epoch ?? null,
    first: 1,
    as_of: lastSeenMs === undefined ? null : formatTimeUs(lastSeenMs * 1000),
    seen,
    recorded: null,
    in_cloud: durableCount,
    on_the_way: { journal: 0, cloud: recording.kind === "failing" ? 0 : rest },
    missing: joined(missing),
    earlier: joined(formerEpochs.flatMap((former) => [
      { count: countOf(former.holes), where: "cloud" as const, reason: former.refused ?? NOT_SENT },
      ...former.lost.map(({ start, end, reason }) => ({ count: end - start, where: "cloud" as const, reason })),
    ])),
    unclear: [],
    not_numbered: null,
  };
}
