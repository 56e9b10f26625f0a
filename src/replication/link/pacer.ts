import { TokenBucket } from "../../base/mod.ts";

/** Rate limit of a live stream, from the handshake. */
export interface LiveRate {
  /** Frames per second; 0: unlimited. */
  rateLimit: number;
  /** Frames in one burst. */
  rateBurst: number;
}

/**
 * Maximum frames of a live stream that are exempt from the rate limit: those up to the head in the boat's first status.
 * They accumulate while the boat connects; a bus that is as busy as the limit could never catch up.
 */
export const CATCH_UP_FRAMES = 10_000;

/**
 * Keeps live frames below the cloud's rate limit; the cloud disconnects a boat that exceeds it. Frames that introduce
 * devices count, too. Pure.
 */
export class LivePacer {
  readonly #isUnlimited: boolean;
  readonly #bucket: TokenBucket;

  constructor({ rateLimit, rateBurst }: LiveRate) {
    this.#isUnlimited = rateLimit <= 0;
    // Half of the burst is reserved for the network, which may deliver frames together that were sent separately.
    const burst = Math.max(1, Math.floor(rateBurst / 2));
    this.#bucket = new TokenBucket({ perSecond: rateLimit, burst });
  }

  /** Number of `frames` that may be sent at `nowMs` (monotonic milliseconds); they count as sent. */
  take(nowMs: number, frames: number): number {
    if (this.#isUnlimited) return frames;
    let taken = 0;
    while (taken < frames && this.#bucket.take(nowMs)) taken++;
    return taken;
  }

  /** Time from the last {@linkcode LivePacer.take} until the next frame may be sent, milliseconds. */
  get waitMs(): number {
    return this.#bucket.waitMs();
  }
}

/** Maximum delay of a live frame by blocks in flight, milliseconds. */
const QUEUE_MS = 500;
/** Maximum bytes in flight. */
const MAX_BYTES_IN_FLIGHT = 8 * 1024 * 1024;
/** Interval of measuring the delay of the link, which changes with the network, milliseconds. */
const MEASURE_INTERVAL_MS = 30_000;
/** If a live frame waits longer than this on the boat, the link is full, milliseconds. */
const LIVE_WAIT_MS = 250;
/** Interval of adjusting the share, milliseconds. */
const SHARE_INTERVAL_MS = 1000;
const MIN_SHARE = 1 / 64;

/** A block in flight. */
interface Sent {
  bytes: number;
  sentMs: number;
  /** Time of the last answer before it was sent, and the bytes answered until then. */
  answeredMs: number;
  answeredBytes: number;
  /** Including the blocks already in flight. */
  bytesInFlight: number;
  /** Sent to measure the delay of the link: nothing else was in flight. */
  isAlone: boolean;
}

/** Measurement of the delay of the link. */
type Pace =
  | { readonly kind: "measuring" }
  | { readonly kind: "steady"; readonly delayMs: number; readonly measuredMs: number };

/**
 * Lets a backfill use the bandwidth that live frames leave. From the answers it derives the bytes per second beside
 * live frames, and the delay of a single block. The bytes in flight are limited to what passes within that delay, or
 * within `QUEUE_MS` if that is longer. A live frame is therefore delayed by `QUEUE_MS`, and now and then by a little more,
 * when the pacer probes for more bandwidth. One block may always be in flight, however long it takes. A cloud that
 * answers late looks like a long link. Pure.
 */
export class BackfillPacer {
  #pace: Pace = { kind: "measuring" };
  #inFlight: Sent[] = [];
  #bytesInFlight = 0;
  #answeredBytes = 0;
  #answeredMs = 0;
  #bytesPerSecond = 0;
  /** Delay of the newest answered block beyond that of a single block, milliseconds. */
  #extraDelayMs = 0;
  /** Lowest number of bytes in flight that has caused too much delay. */
  #tooManyBytes = Infinity;
  /** Used part of the window; reduced while live frames wait. */
  #share = 1;
  #shareAdjustedMs = -Infinity;

  /** Recent throughput beside live frames, bytes per second; 0 before the first answer. */
  get bytesPerSecond(): number {
    return this.#bytesPerSecond;
  }

  /** Bytes sent but not answered. */
  get bytesInFlight(): number {
    return this.#bytesInFlight;
  }

  /** True if a block of `bytes` may be sent at `nowMs` (monotonic milliseconds). */
  maySend(nowMs: number, bytes: number): boolean {
    if (this.#inFlight.length === 0) return true;
    if (this.#pace.kind === "measuring") return false;
    if (nowMs - this.#pace.measuredMs >= MEASURE_INTERVAL_MS) {
      this.#pace = { kind: "measuring" };
      this.#tooManyBytes = Infinity;
      return false;
    }
    const windowMs = Math.max(this.#pace.delayMs, QUEUE_MS);
    const window = this.#bytesPerSecond * windowMs / 1000 * this.#share;
    // Throughput cannot exceed what is in flight: without delay, probe with some more.
    const isFree = this.#share === 1 && this.#extraDelayMs < QUEUE_MS / 2;
    const more = isFree && this.#bytesInFlight + bytes < this.#tooManyBytes ? Math.max(bytes, window / 4) : 0;
    return this.#bytesInFlight + bytes <= Math.min(MAX_BYTES_IN_FLIGHT, window + more);
  }

  /** Reports that a block of `bytes` was sent. */
  sent(nowMs: number, bytes: number): void {
    const isFirst = this.#inFlight.length === 0;
    this.#bytesInFlight += bytes;
    this.#inFlight.push({
      bytes,
      sentMs: nowMs,
      answeredMs: isFirst ? nowMs : this.#answeredMs,
      answeredBytes: this.#answeredBytes,
      bytesInFlight: this.#bytesInFlight,
      isAlone: isFirst && this.#pace.kind === "measuring",
    });
  }

  /** Reports that the cloud answered the `blocks` oldest blocks in flight. */
  answered(nowMs: number, blocks: number): void {
    const answered = this.#inFlight.splice(0, blocks);
    const newest = answered.at(-1);
    if (newest === undefined) return;
    for (const { bytes } of answered) {
      this.#bytesInFlight -= bytes;
      this.#answeredBytes += bytes;
    }
    this.#answeredMs = nowMs;
    // Measured between answers, not from sending: a cloud that answers many blocks together would look too fast.
    const elapsedMs = Math.max(1, nowMs - newest.answeredMs);
    const bytesPerSecond = (this.#answeredBytes - newest.answeredBytes) * 1000 / elapsedMs;
    // A single block shows the delay of the link, not its bandwidth.
    this.#bytesPerSecond = newest.isAlone ? Math.max(this.#bytesPerSecond, bytesPerSecond) : bytesPerSecond;
    const delayMs = nowMs - newest.sentMs;
    if (this.#pace.kind === "steady") {
      this.#extraDelayMs = delayMs - this.#pace.delayMs;
      if (this.#extraDelayMs > QUEUE_MS) this.#tooManyBytes = Math.min(this.#tooManyBytes, newest.bytesInFlight);
      this.#pace = { ...this.#pace, delayMs: Math.min(this.#pace.delayMs, delayMs) };
    } else if (newest.isAlone) {
      this.#pace = { kind: "steady", delayMs, measuredMs: nowMs };
      this.#extraDelayMs = 0;
    }
  }

  /** Reports how long the oldest unsent live frame has waited; 0: none waits. */
  liveWaiting(nowMs: number, waitMs: number): void {
    if (nowMs - this.#shareAdjustedMs < SHARE_INTERVAL_MS) return;
    this.#shareAdjustedMs = nowMs;
    this.#share = waitMs > LIVE_WAIT_MS ? Math.max(MIN_SHARE, this.#share / 2) : Math.min(1, this.#share * 1.25);
  }
}
