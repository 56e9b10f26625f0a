import { type Message, sourceOfId } from "../frame/mod.ts";

/** Decides by bus index, source address and PGN whether a frame is wanted. */
export type Accept = (bus: number, src: number, pgn: number) => boolean;

/** Frames that could not be delivered. The numbers bound the range; `count` says how many of the wanted were lost. */
export interface DroppedFrames {
  from_seq: number;
  to_seq: number;
  count: number;
}

/** Frames that a live stream passes over because they are not here. */
export interface SkippedFrames extends Omit<DroppedFrames, "count"> {
  /** How many frames these are; null: nobody knows which of them the filter would want. */
  count: number | null;
  /** They have not come yet: backfill brings them, and they can be read later. */
  backfill?: true;
  /** Why they cannot be had, where that is known. */
  reason?: string;
}

/** How a subscription is made. */
export interface SubscriptionOptions {
  /** Most frames that may wait, a power of two. */
  capacity: number;
  /** Default: every frame. */
  accept?: Accept;
  /** Called when the first frame waits; not again before {@linkcode Subscription.drain}. */
  wake?: () => void;
  /** Called before the ring forgets all frames, as numbers begin again: what is drained now can still be read. */
  lastCall?: () => void;
  /** Called when numbers are passed over, before the next frame: see {@linkcode Subscription.skip}. */
  skipped?: (frames: SkippedFrames) => void;
}

/**
 * One way out of the broker: the numbers of the frames that are wanted and wait to be read from the ring. Bounded: when
 * full, the newest are dropped, counted and told.
 */
export class Subscription {
  readonly #accept: Accept | undefined;
  readonly #wake: (() => void) | undefined;
  readonly #lastCall: (() => void) | undefined;
  readonly #skipped: ((frames: SkippedFrames) => void) | undefined;
  readonly #seqs: Float64Array<ArrayBuffer>;
  #waiting = 0;
  #first = 0;
  #dropped: DroppedFrames | undefined;
  #droppedTotal = 0;

  /** @throws {RangeError} `capacity` is no power of two */
  constructor({ capacity, accept, wake, lastCall, skipped }: SubscriptionOptions) {
    if (!(capacity >= 1) || !Number.isInteger(Math.log2(capacity))) {
      throw new RangeError(`Cannot subscribe with room for ${capacity} frames: the size must be a power of two`);
    }
    this.#accept = accept;
    this.#wake = wake;
    this.#lastCall = lastCall;
    this.#skipped = skipped;
    this.#seqs = new Float64Array(capacity);
  }

  /** Frames that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of the newest frame that waits; undefined: none does. */
  get newest(): number | undefined {
    if (this.#waiting === 0) return undefined;
    return this.#seqs[(this.#first + this.#waiting - 1) & (this.#seqs.length - 1)];
  }

  /** Frames ever dropped here. */
  get droppedTotal(): number {
    return this.#droppedTotal;
  }

  /** Called by the broker for each frame. */
  offer(seq: number, message: Message): void {
    if (this.#accept && !this.#accept(message.bus, sourceOfId(message.id), message.pgn)) return;
    const capacity = this.#seqs.length;
    if (this.#waiting === capacity) {
      this.drop(seq);
      return;
    }
    this.#seqs[(this.#first + this.#waiting) & (capacity - 1)] = seq;
    if (this.#waiting++ === 0) this.#wake?.();
  }

  /** Hands over up to `max` waiting numbers in order. */
  drain(each: (seq: number) => void, max: number = Infinity): void {
    const count = Math.min(this.#waiting, max);
    for (let i = 0; i < count; i++) {
      const seq = this.#seqs[this.#first] ?? 0;
      this.#first = (this.#first + 1) & (this.#seqs.length - 1);
      this.#waiting--;
      each(seq);
    }
    // Starting anew at the front leaves most of the memory untouched, and so unused.
    if (this.#waiting === 0) this.#first = 0;
  }

  /** Gives what waits to be read a last time; what is not taken is dropped. */
  endRun(): void {
    this.#lastCall?.();
    this.drain((seq) => this.drop(seq));
  }

  /** Tells of frames that are not here, whatever of them would be wanted. They do not count as dropped here. */
  skip(frames: SkippedFrames): void {
    this.#skipped?.(frames);
  }

  /** Counts a frame as dropped. */
  drop(seq: number): void {
    this.#droppedTotal++;
    this.#dropped = extendDropped(this.#dropped, { from_seq: seq, to_seq: seq, count: 1 });
  }

  /** Whether something was dropped that nobody has been told of. */
  get hasDropped(): boolean {
    return this.#dropped !== undefined;
  }

  /** What was dropped since the last call. */
  takeDropped(): DroppedFrames | undefined {
    const dropped = this.#dropped;
    this.#dropped = undefined;
    return dropped;
  }
}

/** Two reports of dropped frames as one. */
export function extendDropped(known: DroppedFrames | undefined, more: DroppedFrames): DroppedFrames {
  if (!known) return more;
  return {
    from_seq: Math.min(known.from_seq, more.from_seq),
    to_seq: Math.max(known.to_seq, more.to_seq),
    count: known.count + more.count,
  };
}
