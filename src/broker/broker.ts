import { type Message, sourceOfId } from "../frame/mod.ts";
import { Decoder } from "./decoder.ts";
import { FrameJson } from "./frame_json.ts";
import { Registry } from "./registry.ts";
import { DEFAULT_RING_FRAMES, Ring } from "./ring.ts";
import type { RingPool } from "./ring_pool.ts";
import { DEFAULT_MAX_VALUES, Values } from "./values.ts";

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

/** Options of a {@linkcode Broker}. */
export interface BrokerOptions {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Frames in the ring, a power of two; default {@linkcode DEFAULT_RING_FRAMES}. */
  ringFrames?: number;
  /** Sequence number of the first frame, default 1. */
  firstSeq?: number;
  /** Most (device, PGN) pairs in the last-value store; default {@linkcode DEFAULT_MAX_VALUES}. */
  maxValues?: number;
  /** Default: decodes by the PGN definitions. */
  decoder?: Decoder;
  /** Supplies the ring's memory; default: the ring allocates its own. */
  pool?: RingPool;
}

/**
 * The single writer. {@linkcode Broker.publish} assigns each message its sequence number, stores it in the ring, updates
 * the device table and the last values, and offers it to every subscription.
 */
export class Broker {
  readonly buses: readonly string[];
  readonly ring: Ring;
  readonly registry: Registry;
  readonly values: Values;
  readonly decoder: Decoder;
  readonly json: FrameJson;
  #subscriptions: readonly Subscription[] = [];
  #wakers: readonly (() => void)[] = [];
  #published = 0;
  #droppedByClosed = 0;
  /** By bus index: time of the newest frame, and the number of frames. */
  readonly #lastFrames: { monoMs: number; timeUs: number; frames: number }[];

  constructor(options: BrokerOptions) {
    const { buses, ringFrames = DEFAULT_RING_FRAMES, firstSeq = 1, maxValues = DEFAULT_MAX_VALUES } = options;
    const { decoder = new Decoder(), pool } = options;
    this.buses = buses;
    this.ring = new Ring(ringFrames, { firstSeq, ...(pool && { pool }) });
    this.registry = new Registry(buses);
    this.values = new Values({ buses: buses.length, maxValues });
    this.decoder = decoder;
    this.json = new FrameJson(this.ring, buses, { decoder });
    this.#lastFrames = buses.map(() => ({ monoMs: -Infinity, timeUs: 0, frames: 0 }));
    this.registry.listen(({ event, device }) => {
      if (event === "removed") this.values.forget(device.bus, device.src);
    });
  }

  /** Newest sequence number; the one before the first when there is none. */
  get head(): number {
    return this.ring.head;
  }

  /** Frames published since the start. */
  get published(): number {
    return this.#published;
  }

  /** Number of open subscriptions. */
  get subscribers(): number {
    return this.#subscriptions.length;
  }

  /** Frames waiting in the subscription with the longest queue. */
  get mostWaiting(): number {
    return this.#subscriptions.reduce((most, { waiting }) => Math.max(most, waiting), 0);
  }

  /** Frames dropped by all subscriptions, closed ones included. */
  get dropped(): number {
    return this.#subscriptions.reduce((sum, each) => sum + each.droppedTotal, this.#droppedByClosed);
  }

  /** Time of the newest frame of a bus, and its number of frames; undefined for an unknown bus. */
  lastFrame(bus: number): { readonly monoMs: number; readonly timeUs: number; readonly frames: number } | undefined {
    return this.#lastFrames[bus];
  }

  /**
   * Assigns a message its number and publishes it. The caller may reuse the message and its buffer afterwards.
   *
   * @param seq number of a frame that already has one (in a replica); must be above the head
   * @returns the sequence number
   */
  publish(message: Message, seq: number = this.ring.head + 1): number {
    this.#published++;
    this.ring.push(seq, message);
    this.updateTables(seq, message);
    for (const subscription of this.#subscriptions) subscription.offer(seq, message);
    if (this.#wakers.length > 0) this.#wakeAll();
    return seq;
  }

  /** Updates devices and last values from a message published before this broker existed. Subscribers do not get it. */
  updateTables(seq: number, message: Message): void {
    this.registry.note(message);
    this.values.set(seq, message);
    const last = this.#lastFrames[message.bus];
    if (!last) return;
    // The assembler may hold a frame back: its time is then earlier than that of the frame before.
    last.monoMs = Math.max(last.monoMs, message.monoMs);
    last.timeUs = Math.max(last.timeUs, message.timeUs);
    last.frames++;
  }

  /** Calls `wake` once, during the next `publish`, so it must be quick. Returns a function that cancels it. */
  onPublish(wake: () => void): () => void {
    this.#wakers = [...this.#wakers, wake];
    return () => this.#wakers = this.#wakers.filter((each) => each !== wake);
  }

  /**
   * Removes all frames from the ring, for a new epoch or a jump in the numbers. Subscribers read their waiting frames
   * now; the rest is dropped.
   *
   * @param firstSeq lowest possible number of the next frame, default 1
   */
  startEpoch(firstSeq = 1): void {
    for (const subscription of this.#subscriptions) subscription.endEpoch();
    this.ring.clear(firstSeq);
    this.json.clear();
  }

  /** Reports frames that are not available to all subscribers, before the next frame. */
  skip(frames: SkippedFrames): void {
    for (const subscription of this.#subscriptions) subscription.skip(frames);
  }

  /** Opens a bounded queue for the frames published from now on. */
  subscribe(options: SubscriptionOptions): Subscription {
    const subscription = new Subscription(options);
    this.#subscriptions = [...this.#subscriptions, subscription];
    return subscription;
  }

  /** Closes a subscription and discards its waiting frames. */
  unsubscribe(subscription: Subscription): void {
    if (!this.#subscriptions.includes(subscription)) return;
    this.#subscriptions = this.#subscriptions.filter((each) => each !== subscription);
    this.#droppedByClosed += subscription.droppedTotal;
  }

  #wakeAll(): void {
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }
}
