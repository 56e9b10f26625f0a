import type { InstanceSummary, MissingFrames, Proof } from "@vessel/gateway/client";

/** A count in the line of frames. */
export interface ProofCount {
  name: string;
  /** Undefined: nothing is recorded, or replicated. */
  count: number | undefined;
}

/** The line of frames: how many were seen, and where they are. */
export interface ProofCounts {
  counts: ProofCount[];
  /** Missing frames of all places. */
  missing: number;
  /** Why, for people; the most important first. */
  reasons: string[];
  /** Frames on their way to the cloud. */
  onTheWay: number;
}

/** The line of one boat. `isCloud`: as its cloud knows it. */
export function countsOf(
  { seen, recorded, in_cloud, on_the_way, missing, earlier }: Proof,
  isCloud: boolean,
): ProofCounts {
  const all = [...missing, ...earlier ?? []];
  const byCount = <Entry extends MissingFrames>(list: readonly Entry[]) => list.toSorted((a, b) => b.count - a.count);
  return {
    counts: [
      { name: isCloud ? "Numbered" : "Seen", count: seen },
      ...(isCloud ? [] : [{ name: "Recorded", count: recorded ?? undefined }]),
      { name: "In the cloud", count: in_cloud ?? undefined },
    ],
    missing: all.reduce((sum, { count }) => sum + count, 0),
    reasons: [
      ...byCount(missing).map(reasonText),
      ...byCount(earlier ?? []).map((each) => `earlier: ${reasonText(each)}`),
    ],
    onTheWay: on_the_way.cloud,
  };
}

/** The line of a fleet. Undefined: this cloud does not count frames. */
export function countsOfFleet(boats: readonly InstanceSummary[]): ProofCounts | undefined {
  const frames = boats.flatMap(({ frames }) => frames ?? []);
  if (frames.length < boats.length) return undefined;
  const sum = (of: (each: typeof frames[number]) => number) => frames.reduce((total, each) => total + of(each), 0);
  const lacking = frames.filter(({ missing }) => missing > 0).length;
  const away = boats.filter(({ connected }) => !connected).length;
  return {
    counts: [
      { name: "Numbered", count: sum(({ seen }) => seen) },
      { name: "In the cloud", count: sum(({ in_cloud }) => in_cloud) },
    ],
    missing: sum(({ missing }) => missing),
    reasons: [
      ...(lacking > 0 ? [`frames of ${boatsText(lacking)}`] : []),
      ...(away > 0 ? [`${boatsText(away)} not connected: counted up to the last message`] : []),
    ],
    onTheWay: sum(({ on_the_way }) => on_the_way),
  };
}

/** All reasons, since their counts add up to the missing frames; else how many frames are on the way. */
export function whyText({ reasons, onTheWay }: ProofCounts): string {
  if (reasons.length > 0) return reasons.join("; ");
  return onTheWay > 0 ? `${countText(onTheWay)} on the way` : "";
}

function boatsText(count: number): string {
  return count === 1 ? "1 boat" : `${countText(count)} boats`;
}

/** A count with its place and reason. */
export function reasonText({ count, where, reason }: MissingFrames): string {
  return `${countText(count)} ${where === "cloud" ? "not in the cloud" : "not recorded"}: ${reason}`;
}

/** A count in groups of three digits. */
export function countText(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, "\u202f");
}
