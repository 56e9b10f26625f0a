import type { Message } from "../frame/mod.ts";
import { Decoder } from "./decoder.ts";
import { FrameJson } from "./frame_json.ts";
import { Registry } from "./registry.ts";
import { DEFAULT_RING_FRAMES, Ring } from "./ring.ts";
import type { RingPool } from "./ring_pool.ts";
import { type SkippedFrames, Subscription, type SubscriptionOptions } from "./subscription.ts";
import { DEFAULT_MAX_VALUES, Values } from "./values.ts";

/** How a broker is made. */
export interface BrokerOptions {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Frames in the ring, a power of two; default {@linkcode DEFAULT_RING_FRAMES}. */
  ringFrames?: number;
  /** Number of the first frame, default 1. */
  firstSeq?: number;
  /** (Device, PGN) pairs in the store of last values; default {@linkcode DEFAULT_MAX_VALUES}. */
  maxValues?: number;
  /** Default: by the definitions of the PGNs. */
  decoder?: Decoder;
  /** Where the ring's memory comes from; default: it has its own. */
  pool?: RingPool;
}

/**
 * The one writer. Every message comes through {@linkcode Broker.publish}, gets its number, and is from then on in the
 * ring, in the device table, among the last values, and on its way to every subscriber that wants it.
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
  #droppedByGone = 0;
  /** Monotonic and wall time of the newest frame by bus. */
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

  /** Frames published. */
  get published(): number {
    return this.#published;
  }

  /** Subscriptions open. */
  get subscribers(): number {
    return this.#subscriptions.length;
  }

  /** Most frames that wait in one subscription now. */
  get mostWaiting(): number {
    return this.#subscriptions.reduce((most, { waiting }) => Math.max(most, waiting), 0);
  }

  /** Frames dropped on the way to subscribers, those that have gone included. */
  get dropped(): number {
    return this.#subscriptions.reduce((sum, each) => sum + each.droppedTotal, this.#droppedByGone);
  }

  /** When a bus was heard last, and how many messages it has brought. */
  lastFrame(bus: number): { readonly monoMs: number; readonly timeUs: number; readonly frames: number } | undefined {
    return this.#lastFrames[bus];
  }

  /**
   * Numbers a message and gives it to everybody. The message object and its buffer stay the caller's.
   *
   * @param seq the number of a frame that has one already (a replica's); above the head
   * @returns the number
   */
  publish(message: Message, seq: number = this.ring.head + 1): number {
    this.#published++;
    this.ring.push(seq, message);
    this.recall(seq, message);
    for (const subscription of this.#subscriptions) subscription.offer(seq, message);
    if (this.#wakers.length > 0) this.#wakeAll();
    return seq;
  }

  /** Devices and values learn from a message that was published before this broker was made; nobody gets it again. */
  recall(seq: number, message: Message): void {
    this.registry.note(message);
    this.values.set(seq, message);
    const last = this.#lastFrames[message.bus];
    if (!last) return;
    // A frame that was held back by the assembler comes with its own, earlier time.
    last.monoMs = Math.max(last.monoMs, message.monoMs);
    last.timeUs = Math.max(last.timeUs, message.timeUs);
    last.frames++;
  }

  /** Calls `wake` once, in the course of the next publishing: it must be quick. Returns the way to take it back. */
  onPublish(wake: () => void): () => void {
    this.#wakers = [...this.#wakers, wake];
    return () => this.#wakers = this.#wakers.filter((each) => each !== wake);
  }

  /**
   * Forgets all frames: numbers begin again, or go on far behind. What waits in subscriptions is taken now, or dropped.
   *
   * @param firstSeq the number that the next frame has at least, default 1
   */
  startOver(firstSeq = 1): void {
    for (const subscription of this.#subscriptions) subscription.endRun();
    this.ring.clear(firstSeq);
    this.json.clear();
  }

  /** Tells subscribers of frames that are not here, before the next frame. */
  skip(frames: SkippedFrames): void {
    for (const subscription of this.#subscriptions) subscription.skip(frames);
  }

  /** Opens a bounded way out for frames from now on. */
  subscribe(options: SubscriptionOptions): Subscription {
    const subscription = new Subscription(options);
    this.#subscriptions = [...this.#subscriptions, subscription];
    return subscription;
  }

  /** Closes a subscription; what waits in it is not delivered. */
  unsubscribe(subscription: Subscription): void {
    if (!this.#subscriptions.includes(subscription)) return;
    this.#subscriptions = this.#subscriptions.filter((each) => each !== subscription);
    this.#droppedByGone += subscription.droppedTotal;
  }

  #wakeAll(): void {
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }
}
