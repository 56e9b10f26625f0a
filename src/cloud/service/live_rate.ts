import { TokenBucket } from "../../base/mod.ts";
import { CATCH_UP_FRAMES } from "../../replication/mod.ts";

/** How many live frames a boat may send. */
export interface LiveRateLimits {
  /** Frames a second on average; 0: as many as come. */
  rateLimit: number;
  /** Frames at once. */
  rateBurst: number;
}

/** A silence that is longer is a link that stood still: what it held back comes at once then. */
const STALL_MS = 100;
/** Longer ones are no stalls: the watchdog has ended the connection. */
const MAX_STALL_MS = 30_000;
/** What a stall held back has come so long after it at the latest. */
const CATCH_UP_MS = 2000;

/**
 * The rate of one boat's live frames, measured where they arrive. A boat that keeps to the rate may arrive all at once when
 * its link has stood still: what it could have sent while nothing at all came is kept for it, beyond the burst and for a
 * short while. Nobody gets more than the rate on average. Pure.
 */
export class LiveRateMeter {
  readonly #limits: LiveRateLimits;
  /** Fills as slowly as the other: whoever connects again and again gains nothing. */
  readonly #catchUp: TokenBucket;
  #tokens: number;
  #heardMs: number | undefined;
  /** Most tokens: a burst, or what a silence has brought. */
  #room: number;
  #roomUntilMs = -Infinity;

  /** Room for a burst, and no silence yet. */
  constructor(limits: LiveRateLimits) {
    this.#limits = limits;
    this.#catchUp = new TokenBucket({ perSecond: limits.rateLimit, burst: CATCH_UP_FRAMES });
    this.#tokens = this.#room = limits.rateBurst;
  }

  /** Whether it measures by these limits. */
  isFor({ rateLimit, rateBurst }: LiveRateLimits): boolean {
    return this.#limits.rateLimit === rateLimit && this.#limits.rateBurst === rateBurst;
  }

  /** Anything has come, at `nowMs` (monotonic milliseconds). To be told before frames are taken. */
  heard(nowMs: number): void {
    const { rateLimit, rateBurst } = this.#limits;
    const silentMs = Math.min(nowMs - (this.#heardMs ?? nowMs), MAX_STALL_MS);
    this.#heardMs = nowMs;
    this.#tokens += silentMs * rateLimit / 1000;
    if (silentMs > STALL_MS) {
      this.#room = Math.max(rateBurst, this.#tokens);
      this.#roomUntilMs = nowMs + CATCH_UP_MS;
    } else if (nowMs > this.#roomUntilMs) this.#room = rateBurst;
    this.#tokens = Math.min(this.#tokens, this.#room);
  }

  /** A new connection begins: that there was none before is no stall. */
  reconnected(nowMs: number): void {
    this.heard(nowMs);
    this.#roomUntilMs = -Infinity;
    this.#room = this.#limits.rateBurst;
    this.#tokens = Math.min(this.#tokens, this.#room);
  }

  /** Takes frames that are to be caught up, beside the rate, if they may come now. */
  catchUp(frames: number): boolean {
    return this.#catchUp.take(this.#heardMs ?? 0, frames);
  }

  /** Takes so many frames, if they may come now. */
  take(frames: number): boolean {
    if (this.#limits.rateLimit <= 0) return true;
    if (this.#tokens < frames) return false;
    this.#tokens -= frames;
    return true;
  }
}
