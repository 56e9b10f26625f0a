import type { Message } from "../frame/mod.ts";
import { Decoder } from "./decoder.ts";
import { FrameJson } from "./frame_json.ts";
import { Registry } from "./registry.ts";
import { DEFAULT_RING_FRAMES, Ring } from "./ring.ts";
import type { RingPool } from "./ring_pool.ts";
import { type SkippedFrames, Subscription, type SubscriptionOptions } from "./subscription.ts";
import { DEFAULT_MAX_VALUES, Values } from "./values.ts";

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
