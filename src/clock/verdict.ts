import { TIME_PGN } from "./gnss_time.ts";
import type { TimeStream } from "./time_stream.ts";
import type { Timeline } from "./timeline.ts";

/** GPS counts 1024 weeks; a receiver that is older than a count tells a time that is whole counts too early. */
const ROLLOVER_US = 1024 * 7 * 86_400_000_000;
/** GPS time began on 1980-01-06; what is earlier is no GPS time. */
const GPS_EPOCH_US = Date.UTC(1980, 0, 6) * 1000;
/** Sources that are further apart disagree. */
const AGREE_US = 1_000_000;
/** A source that was not received for this time, while others were, is gone. */
const GONE_MS = 600_000;

/** What a source tells, and how far it can be believed. */
export interface Claim {
  source: string;
  pgn: number;
  timeline: Timeline;
  /** "rollover": the time is earlier than the software, `shiftUs` corrects it. */
  kind: "as reported" | "rollover" | "implausible";
  /** Whole multiples of 1024 weeks, microseconds; else 0. */
  shiftUs: number;
  /** True if the source is still received, or none is. */
  isPresent: boolean;
}

export type Verdict = {
  /** The claims that agree; the one with the least latency first. */
  believed: readonly [Claim, ...Claim[]];
  /** True if others agree on another time and neither is more credible. */
  isDisputed: boolean;
};

/** What a stream tells; undefined: not enough yet. */
export function claimOf(stream: TimeStream, { earliestUs, newestMs }: {
  earliestUs: number;
  newestMs: number;
}): Claim | undefined {
  const isAsReported = ({ firstUs }: Timeline) => firstUs >= earliestUs && firstUs < earliestUs + ROLLOVER_US;
  const timeline = stream.best(isAsReported);
  if (!timeline) return undefined;
  const { source, pgn } = stream;
  const claim = { source, pgn, timeline, isPresent: newestMs - stream.lastMs < GONE_MS };
  if (isAsReported(timeline)) return { ...claim, kind: "as reported", shiftUs: 0 };
  const { firstUs } = timeline;
  const isRollover = firstUs < earliestUs && firstUs >= GPS_EPOCH_US;
  return isRollover
    ? { ...claim, kind: "rollover", shiftUs: Math.ceil((earliestUs - firstUs) / ROLLOVER_US) * ROLLOVER_US }
    : { ...claim, kind: "implausible", shiftUs: 0 };
}

/** True time at monotonic `ms` by a claim, microseconds since 1970. */
export function timeBy({ timeline, shiftUs }: Claim, ms: number): number {
  const { offsetUs, drift } = timeline.line;
  return offsetUs + shiftUs + ms * 1000 * (1 + drift);
}

/** How far a claim is ahead of another, microseconds; where both have readings, else between them. */
export function aheadUs(claim: Claim, other: Claim): { us: number; uncertaintyUs: number } {
  const [first, last] = [claim, other].map(({ timeline }) => timeline).sort((a, b) => a.lastMs - b.lastMs);
  const gapMs = Math.max(0, (last?.firstMs ?? 0) - (first?.lastMs ?? 0));
  const ms = (first?.lastMs ?? 0) + gapMs / 2;
  const uncertaintyUs = claim.timeline.uncertaintyUs(gapMs / 2) + other.timeline.uncertaintyUs(gapMs / 2);
  return { us: timeBy(claim, ms) - timeBy(other, ms), uncertaintyUs };
}

/** Decides which claims are true: of those with equal votes the first; undefined: none is credible. */
export function judge(claims: readonly Claim[]): Verdict | undefined {
  const voters = votersOf(claims);
  const groups = voters.map((centre) => {
    const agreeing = voters.filter((each) => agree(centre, each));
    return { agreeing, votes: votesOf(agreeing) };
  }).sort((a, b) => compareVotes(b.votes, a.votes));
  const [best] = groups;
  const [first, ...others] = best ? [...best.agreeing].sort(byLatency) : [];
  if (!best || !first) return undefined;
  const isDisputed = groups.some(({ agreeing, votes }) =>
    compareVotes(votes, best.votes) === 0 && agreeing.every((each) => !best.agreeing.includes(each))
  );
  return { believed: [first, ...others], isDisputed };
}

/**
 * The claims that count: as reported before corrected, and PGN 129033 only if there is nothing else. What needs correction
 * must be settled: a receiver without a fix can begin in 1980.
 */
function votersOf(claims: readonly Claim[]): Claim[] {
  const asReported = claims.filter(({ kind }) => kind === "as reported");
  const corrected = claims.filter(({ kind, timeline }) => kind === "rollover" && timeline.isSettled);
  const credible = asReported.length > 0 ? asReported : corrected;
  const better = credible.filter(({ pgn }) => pgn !== TIME_PGN.timeDate);
  return better.length > 0 ? better : credible;
}

/** Whether two claims tell the same time. */
export function agree(claim: Claim, other: Claim): boolean {
  const { us, uncertaintyUs } = aheadUs(claim, other);
  return Math.abs(us) <= AGREE_US + uncertaintyUs;
}

/** In the order of their weight: settled sources that are received, whether any is settled, sources that are received. */
function votesOf(claims: readonly Claim[]): readonly number[] {
  const count = (counts: (claim: Claim) => boolean) => new Set(claims.filter(counts).map(({ source }) => source)).size;
  return [
    count(({ isPresent, timeline }) => isPresent && timeline.isSettled),
    Math.min(1, count(({ timeline }) => timeline.isSettled)),
    count(({ isPresent }) => isPresent),
  ];
}

function compareVotes(a: readonly number[], b: readonly number[]): number {
  return a.map((votes, i) => votes - (b[i] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** Advantage of PGN 126992, which has the least latency as a rule, over the others. */
const SYSTEM_TIME_ADVANTAGE_US = 20_000;

/** Settled claims first, then those that are ahead: latency is never negative. */
function byLatency(a: Claim, b: Claim): number {
  const advantage = ({ pgn }: Claim) => pgn === TIME_PGN.systemTime ? SYSTEM_TIME_ADVANTAGE_US : 0;
  return Number(b.timeline.isSettled) - Number(a.timeline.isSettled) ||
    aheadUs(b, a).us + advantage(b) - advantage(a);
}
