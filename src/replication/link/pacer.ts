import { TokenBucket } from "../../base/mod.ts";

/** What a cloud takes on a live stream, as its handshake tells; a rate of 0 is unlimited. */
export interface LiveRate {
  /** Frames a second. */
  rateLimit: number;
  /** Frames at once. */
  rateBurst: number;
}

/**
 * Frames that a live stream may bring beside the rate: those up to the head that the boat has told before the first one.
 * So much comes while a boat connects; a bus as full as the rate would never make up for it.
 */
export const CATCH_UP_FRAMES = 10_000;

/**
 * Keeps live frames within what the cloud takes; one that sends more is cut off. All frames of a stream share it, those
 * that introduce devices as well. Pure.
 */
export class LivePacer {
  readonly #isUnlimited: boolean;
  readonly #bucket: TokenBucket;

  /** Makes a pacer for a new stream. */
  constructor({ rateLimit, rateBurst }: LiveRate) {
    this.#isUnlimited = rateLimit <= 0;
    // The other half is for the network, which may hand over at once what was sent one after the other.
    const burst = Math.max(1, Math.floor(rateBurst / 2));
    this.#bucket = new TokenBucket({ perSecond: rateLimit, burst });
  }

  /** How many of `frames` may be sent now, at `nowMs` (monotonic milliseconds). They count as sent. */
  take(nowMs: number, frames: number): number {
    if (this.#isUnlimited) return frames;
    let taken = 0;
    while (taken < frames && this.#bucket.take(nowMs)) taken++;
    return taken;
  }

  /** Milliseconds from the last take until another frame may be sent. */
  get waitMs(): number {
    return this.#bucket.waitMs();
  }
}

/** Limits of a backfill. */
export interface BackfillPacerOptions {
  /** How long what is under way may hold up a live frame, milliseconds; default 500. */
  queueMs?: number;
  /** Most bytes under way; default 8 MiB. */
  maxBytesUnderWay?: number;
}

const QUEUE_MS = 500;
const MAX_BYTES_UNDER_WAY = 8 * 1024 * 1024;
/** How often the way's own delay is measured anew: it changes with the network. */
const MEASURE_EVERY_MS = 30_000;
/** A live frame that waits for longer on the boat says that the link is full. */
const LIVE_WAIT_MS = 250;
/** How often live's waiting changes the share. */
const SHARE_EVERY_MS = 1000;
const MIN_SHARE = 1 / 64;

/** A block under way. */
interface Sent {
  bytes: number;
  sentMs: number;
  /** When the last answer before it came, and how much had been answered by then. */
  answeredMs: number;
  answeredBytes: number;
  /** With what was under way already. */
  bytesUnderWay: number;
  /** Sent to measure the way: nothing else was under way. */
  isAlone: boolean;
}

/** Whether the delay of the way is known. */
type Pace =
  | { readonly kind: "measuring" }
  | { readonly kind: "steady"; readonly delayMs: number; readonly measuredMs: number };

/**
 * Lets a backfill have what live leaves of a link. Answers tell how many bytes a second get through beside live, and how
 * long one block alone takes. No more is under way than gets through in that time, or in `queueMs` where that is longer;
 * so a live frame that follows is held up by `queueMs`, and now and then by a little more, with which the pacer finds out
 * what the way takes. One block may always be under way: where that takes longer, so does live. A cloud that answers
 * late looks like a long way. Pure.
 */
export class BackfillPacer {
  readonly #queueMs: number;
  readonly #maxBytesUnderWay: number;
  #pace: Pace = { kind: "measuring" };
  #underWay: Sent[] = [];
  #bytesUnderWay = 0;
  #answeredBytes = 0;
  #answeredMs = 0;
  #bytesPerSecond = 0;
  /** How much longer than one alone the newest answered block took. */
  #heldUpMs = 0;
  /** So many bytes under way were found too many for the way. */
  #tooManyBytes = Infinity;
  /** What part of it may be used; less when live frames wait all the same. */
  #share = 1;
  #sharedMs = -Infinity;

  /** Makes a pacer for a new stream. */
  constructor({ queueMs = QUEUE_MS, maxBytesUnderWay = MAX_BYTES_UNDER_WAY }: BackfillPacerOptions = {}) {
    this.#queueMs = queueMs;
    this.#maxBytesUnderWay = maxBytesUnderWay;
  }

  /** What got through lately beside live, bytes a second; 0 before the first answer. */
  get bytesPerSecond(): number {
    return this.#bytesPerSecond;
  }

  /** Bytes that were sent and not answered. */
  get bytesUnderWay(): number {
    return this.#bytesUnderWay;
  }

  /** Whether a block of `bytes` may be sent now, at `nowMs` (monotonic milliseconds). */
  maySend(nowMs: number, bytes: number): boolean {
    if (this.#underWay.length === 0) return true;
    if (this.#pace.kind === "measuring") return false;
    if (nowMs - this.#pace.measuredMs >= MEASURE_EVERY_MS) {
      this.#pace = { kind: "measuring" };
      this.#tooManyBytes = Infinity;
      return false;
    }
    const windowMs = Math.max(this.#pace.delayMs, this.#queueMs);
    const window = this.#bytesPerSecond * windowMs / 1000 * this.#share;
    // No more gets through than is under way: where nothing is held up, some more finds out what the way takes.
    const isFree = this.#share === 1 && this.#heldUpMs < this.#queueMs / 2;
    const more = isFree && this.#bytesUnderWay + bytes < this.#tooManyBytes ? Math.max(bytes, window / 4) : 0;
    return this.#bytesUnderWay + bytes <= Math.min(this.#maxBytesUnderWay, window + more);
  }

  /** A block of `bytes` was sent. */
  sent(nowMs: number, bytes: number): void {
    const isFirst = this.#underWay.length === 0;
    this.#bytesUnderWay += bytes;
    this.#underWay.push({
      bytes,
      sentMs: nowMs,
      answeredMs: isFirst ? nowMs : this.#answeredMs,
      answeredBytes: this.#answeredBytes,
      bytesUnderWay: this.#bytesUnderWay,
      isAlone: isFirst && this.#pace.kind === "measuring",
    });
  }

  /** The cloud answered so many blocks, those that were sent first. */
  answered(nowMs: number, blocks: number): void {
    const answered = this.#underWay.splice(0, blocks);
    const newest = answered.at(-1);
    if (newest === undefined) return;
    for (const { bytes } of answered) {
      this.#bytesUnderWay -= bytes;
      this.#answeredBytes += bytes;
    }
    this.#answeredMs = nowMs;
    // From answer to answer, not from sending: a cloud that answers many blocks at once would look too fast.
    const elapsedMs = Math.max(1, nowMs - newest.answeredMs);
    const bytesPerSecond = (this.#answeredBytes - newest.answeredBytes) * 1000 / elapsedMs;
    // One block alone tells how long the way is, not how wide.
    this.#bytesPerSecond = newest.isAlone ? Math.max(this.#bytesPerSecond, bytesPerSecond) : bytesPerSecond;
    const delayMs = nowMs - newest.sentMs;
    if (this.#pace.kind === "steady") {
      this.#heldUpMs = delayMs - this.#pace.delayMs;
      if (this.#heldUpMs > this.#queueMs) this.#tooManyBytes = Math.min(this.#tooManyBytes, newest.bytesUnderWay);
      this.#pace = { ...this.#pace, delayMs: Math.min(this.#pace.delayMs, delayMs) };
    } else if (newest.isAlone) {
      this.#pace = { kind: "steady", delayMs, measuredMs: nowMs };
      this.#heldUpMs = 0;
    }
  }

  /** The oldest live frame that has not left the boat waits for `waitMs`; 0: none does. */
  liveWaits(nowMs: number, waitMs: number): void {
    if (nowMs - this.#sharedMs < SHARE_EVERY_MS) return;
    this.#sharedMs = nowMs;
    this.#share = waitMs > LIVE_WAIT_MS ? Math.max(MIN_SHARE, this.#share / 2) : Math.min(1, this.#share * 1.25);
  }
}
