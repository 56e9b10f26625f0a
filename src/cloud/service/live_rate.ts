import { TokenBucket } from "../../base/mod.ts";
import { CATCH_UP_FRAMES } from "../../replication/mod.ts";
import type { InstanceSettings } from "../instance/settings.ts";

/** Rate limit of a boat's live frames. */
export type LiveRateLimits = Pick<InstanceSettings, "rateLimit" | "rateBurst">;

/** A longer silence is a stalled link, which then delivers the delayed frames at once. */
const STALL_MS = 100;
/** A longer silence is no stall: the watchdog has ended the connection. */
const MAX_STALL_MS = 30_000;
/** Maximum time after a stall until the delayed frames have arrived. */
const CATCH_UP_MS = 2000;

/**
 * Limits the rate of one boat's live frames on arrival. After a stalled link the frames of a boat that keeps the limit may
 * arrive at once: the tokens of the silence are available beyond the burst for a short time. On average no boat gets more
 * than the limit. Pure.
 */
export class LiveRateMeter {
  readonly #limits: LiveRateLimits;
  /** Fills at the same rate, so that frequent reconnects gain nothing. */
  readonly #catchUp: TokenBucket;
  #tokens: number;
  #advancedMs: number | undefined;
  /** Maximum tokens: a burst, or the tokens of a silence. */
  #capacity: number;
  #capacityUntilMs = -Infinity;

  constructor(limits: LiveRateLimits) {
    this.#limits = limits;
    this.#catchUp = new TokenBucket({ perSecond: limits.rateLimit, burst: CATCH_UP_FRAMES });
    this.#tokens = this.#capacity = limits.rateBurst;
  }

  /** True if the meter has these limits. */
  isFor({ rateLimit, rateBurst }: LiveRateLimits): boolean {
    return this.#limits.rateLimit === rateLimit && this.#limits.rateBurst === rateBurst;
  }

  /** Adds tokens up to `nowMs`, the monotonic time of a message. Must be called before {@linkcode LiveRateMeter.take}. */
  advance(nowMs: number): void {
    const { rateLimit, rateBurst } = this.#limits;
    const silentMs = Math.min(nowMs - (this.#advancedMs ?? nowMs), MAX_STALL_MS);
    this.#advancedMs = nowMs;
    this.#tokens += silentMs * rateLimit / 1000;
    if (silentMs > STALL_MS) {
      this.#capacity = Math.max(rateBurst, this.#tokens);
      this.#capacityUntilMs = nowMs + CATCH_UP_MS;
    } else if (nowMs > this.#capacityUntilMs) this.#capacity = rateBurst;
    this.#tokens = Math.min(this.#tokens, this.#capacity);
  }

  /** A new connection begins: the time without a connection is no stall. */
  reconnected(nowMs: number): void {
    this.advance(nowMs);
    this.#capacityUntilMs = -Infinity;
    this.#capacity = this.#limits.rateBurst;
    this.#tokens = Math.min(this.#tokens, this.#capacity);
  }

  /** Takes tokens for frames older than the connection, which have a budget of their own. False: not enough tokens. */
  catchUp(frames: number): boolean {
    return this.#catchUp.take(this.#advancedMs ?? 0, frames);
  }

  /** Takes tokens for this many frames. False: not enough tokens. */
  take(frames: number): boolean {
    if (this.#limits.rateLimit <= 0) return true;
    if (this.#tokens < frames) return false;
    this.#tokens -= frames;
    return true;
  }
}
