import { TIME_PGN } from "./gnss_time.ts";
import { TimeStream } from "./time_stream.ts";
import { agree, aheadUs, type Claim, claimOf, judge, type Verdict } from "./verdict.ts";

/** Most sources times PGNs that are remembered; beyond, the one that was not settled or received for longest is not. */
const MAX_STREAMS = 32;
/** Largest spread with which an estimate is good: noise, and twice the error by a drift that changes. */
const GOOD_SPREAD_US = 30_000;
/** Latency that is usual; receivers that are further apart are not both good. */
const USUAL_LATENCY_US = 300_000;

/** A reported time, and when it was received. */
export interface ClockReading {
  /** Reception, monotonic milliseconds. */
  monoMs: number;
  /** Reported time, microseconds since 1970 UTC; see {@linkcode gnssTimeOf}. */
  gnssUs: number;
  /** Who tells it: bus index and NAME or address as text. */
  source: string;
  pgn: number;
}

/** A source that was not believed. */
export interface RejectedSource {
  source: string;
  /**
   * - `disagrees`: differs by more than a second from those believed
   * - `rollover`: earlier than the software by multiples of 1024 weeks; believed after correction if there is no other
   * - `implausible`: a time before GPS or the software, or 1024 weeks later
   */
  reason: "disagrees" | "rollover" | "implausible";
  /** How far what it tells is ahead of the estimate, microseconds. */
  byUs: number;
}

/** The true time: `offsetUs + monoMs * 1000 * (1 + drift)`. */
export interface ClockEstimate {
  /** True time at monotonic 0, microseconds since 1970 UTC. */
  offsetUs: number;
  /** How much faster true time is than the monotonic clock. */
  drift: number;
  /**
   * - `good`: within 50 ms over the time observed, 15 minutes at least; also as long before and after, at most three hours
   *   each, if the drift changes by no more than ±1 ppm over a day. The least latency is taken for zero: it must be 15 ms
   *   at most
   * - `fair`: longer latency, few readings or a drift that changes: within 500 ms over the time observed, and 15 minutes
   *   before and after. In the first 15 minutes of a receiver what it tells can be wrong, by leap seconds in particular
   * - `disputed`: sources disagree, and none is confirmed by another; the one that was received first is taken
   */
  quality: "good" | "fair" | "disputed";
  /** Source and PGN with the least latency of those that agree. */
  source: string;
  pgn: number;
  /** Number of readings of this source and PGN. */
  readings: number;
  rejected: RejectedSource[];
}

/**
 * Estimates the true time from what sources tell. Readings are late by their latency and never early: the estimate is
 * the line over the best of them. The time observed is the newest 1440 minutes with readings.
 */
export class ClockEstimator {
  readonly #earliestUs: number;
  #newestMs = -Infinity;
  readonly #streams = new Map<string, TimeStream>();

  /** @param options.earliestUs no time before this is believed: when the software was made, microseconds since 1970 */
  constructor({ earliestUs }: { earliestUs: number }) {
    this.#earliestUs = earliestUs;
  }

  /** Adds a reading. One that is earlier than the last of its source and PGN is ignored. */
  add({ monoMs, gnssUs, source, pgn }: ClockReading): void {
    if (!Number.isFinite(monoMs) || !Number.isFinite(gnssUs)) return;
    const key = `${pgn} ${source}`;
    let stream = this.#streams.get(key);
    if (!stream) {
      if (this.#streams.size >= MAX_STREAMS) this.#forgetOne();
      this.#streams.set(key, stream = new TimeStream(source, pgn));
    }
    stream.add(monoMs, gnssUs);
    this.#newestMs = Math.max(this.#newestMs, monoMs);
  }

  /** Undefined until a believable source has reported the time for 30 seconds. */
  estimate(): ClockEstimate | undefined {
    const claims = [...this.#streams.values()]
      .map((stream) => claimOf(stream, { earliestUs: this.#earliestUs, newestMs: this.#newestMs }))
      .filter((claim) => claim !== undefined);
    const verdict = judge(claims);
    if (!verdict) return undefined;
    const [{ source, pgn, timeline, shiftUs }] = verdict.believed;
    const { offsetUs, drift } = timeline.line;
    return {
      offsetUs: offsetUs + shiftUs,
      drift,
      quality: qualityOf(verdict),
      source,
      pgn,
      readings: timeline.readings,
      rejected: rejectedOf(claims, verdict),
    };
  }

  #forgetOne(): void {
    const [least] = [...this.#streams].sort(([, a], [, b]) =>
      Number(a.isSettled) - Number(b.isSettled) || a.lastMs - b.lastMs
    );
    if (least) this.#streams.delete(least[0]);
  }
}

function qualityOf({ believed, isDisputed }: Verdict): ClockEstimate["quality"] {
  if (isDisputed) return "disputed";
  const [best] = believed;
  const settled = believed.filter(({ pgn, timeline }) => pgn === TIME_PGN.systemTime && timeline.isSettled);
  const isGood = settled.length > 0 && best.timeline.line.spreadUs <= GOOD_SPREAD_US &&
    settled.every((each) => aheadUs(best, each).us <= USUAL_LATENCY_US);
  return isGood ? "good" : "fair";
}

/** One entry for each source of which a claim is not believed as reported; its first claim with the reason. */
function rejectedOf(claims: readonly Claim[], { believed: [best, ...others] }: Verdict): RejectedSource[] {
  const believed = new Set([best, ...others]);
  const rejected = new Map<string, RejectedSource>();
  for (const claim of claims) {
    const isRollover = claim.kind === "rollover";
    if (believed.has(claim) && !isRollover) continue;
    const agrees = agree(claim, best);
    if (agrees && !isRollover || rejected.has(claim.source)) continue;
    const reason = claim.kind === "as reported" ? "disagrees" : isRollover && agrees ? "rollover" : "implausible";
    rejected.set(claim.source, { source: claim.source, reason, byUs: aheadUs(claim, best).us - claim.shiftUs });
  }
  return [...rejected.values()];
}
