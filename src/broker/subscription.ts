import { type Message, sourceOfId } from "../frame/mod.ts";

/** Filters frames by bus index, source address and PGN; true accepts. */
export type Accept = (bus: number, src: number, pgn: number) => boolean;

/** Frames that could not be delivered. `count` is the number of dropped frames within the range. */
export interface DroppedFrames {
  from_seq: number;
  to_seq: number;
  count: number;
}

/** Frames that a live stream skips because they are not available. */
export interface SkippedFrames extends Omit<DroppedFrames, "count"> {
  /** Number of frames; null where it is unknown how many would have passed the filter. */
  count: number | null;
  /** Backfill will deliver them; they can be read later. */
  backfill?: true;
  /** Why they are lost, where known. */
  reason?: string;
}

/** Options of a {@linkcode Subscription}. */
export interface SubscriptionOptions {
  /** Size of the queue, frames; a power of two. */
  capacity: number;
  /** Default: accepts every frame. */
  accept?: Accept;
  /** Called when a frame enters the empty queue; not again before {@linkcode Subscription.drain}. */
  wake?: () => void;
  /** Called before the ring is cleared: frames drained now can still be read. */
  beforeClear?: () => void;
  /** Called when frames are skipped, before the next frame: see {@linkcode Subscription.skip}. */
  skipped?: (frames: SkippedFrames) => void;
}

/**
 * Bounded queue of the sequence numbers of accepted frames, which the subscriber reads from the ring. When the queue is
 * full, new frames are dropped, counted and reported.
 */
export class Subscription {
  readonly #accept: Accept | undefined;
  readonly #wake: (() => void) | undefined;
  readonly #beforeClear: (() => void) | undefined;
  readonly #skipped: ((frames: SkippedFrames) => void) | undefined;
  readonly #seqs: Float64Array<ArrayBuffer>;
  #waiting = 0;
  #first = 0;
  #dropped: DroppedFrames | undefined;
  #droppedTotal = 0;

  /** @throws {RangeError} `capacity` is no power of two */
  constructor({ capacity, accept, wake, beforeClear, skipped }: SubscriptionOptions) {
    if (!(capacity >= 1) || !Number.isInteger(Math.log2(capacity))) {
      throw new RangeError(`Cannot subscribe with a queue of ${capacity} frames: the size must be a power of two`);
    }
    this.#accept = accept;
    this.#wake = wake;
    this.#beforeClear = beforeClear;
    this.#skipped = skipped;
    this.#seqs = new Float64Array(capacity);
  }

  /** Frames in the queue. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Sequence number of the newest frame in the queue; undefined when it is empty. */
  get newest(): number | undefined {
    if (this.#waiting === 0) return undefined;
    return this.#seqs[(this.#first + this.#waiting - 1) & (this.#seqs.length - 1)];
  }

  /** Frames dropped since the start. */
  get droppedTotal(): number {
    return this.#droppedTotal;
  }

  /** Queues a frame if it is accepted. Called by the broker. */
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

  /** Removes up to `max` numbers from the queue, in order. */
  drain(each: (seq: number) => void, max: number = Infinity): void {
    const count = Math.min(this.#waiting, max);
    for (let i = 0; i < count; i++) {
      const seq = this.#seqs[this.#first] ?? 0;
      this.#first = (this.#first + 1) & (this.#seqs.length - 1);
      this.#waiting--;
      each(seq);
    }
    // Starting again at index 0 leaves most of the memory untouched, so the kernel need not back it.
    if (this.#waiting === 0) this.#first = 0;
  }

  /** Lets the subscriber read its waiting frames before the ring is cleared, and drops the rest. */
  endEpoch(): void {
    this.#beforeClear?.();
    this.drain((seq) => this.drop(seq));
  }

  /** Reports frames that are not available, without applying the filter. They do not count as dropped. */
  skip(frames: SkippedFrames): void {
    this.#skipped?.(frames);
  }

  /** Counts a frame as dropped. */
  drop(seq: number): void {
    this.#droppedTotal++;
    this.#dropped = extendDropped(this.#dropped, { from_seq: seq, to_seq: seq, count: 1 });
  }

  /** Whether drops have not been reported yet. */
  get hasDropped(): boolean {
    return this.#dropped !== undefined;
  }

  /** The drops since the last call. */
  takeDropped(): DroppedFrames | undefined {
    const dropped = this.#dropped;
    this.#dropped = undefined;
    return dropped;
  }
}

/** Merges two reports of dropped frames. */
export function extendDropped(known: DroppedFrames | undefined, more: DroppedFrames): DroppedFrames {
  if (!known) return more;
  return {
    from_seq: Math.min(known.from_seq, more.from_seq),
    to_seq: Math.max(known.to_seq, more.to_seq),
    count: known.count + more.count,
  };
}
