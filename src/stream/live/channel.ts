import type { SkippedFrames, Subscription } from "../../broker/mod.ts";
import { Batch } from "./batch.ts";
import type { StreamClient } from "./client.ts";

/** Most frames in one write. */
export const BATCH_FRAMES = 512;
/** A write with so many characters gets no further frames: the connection of a client that does not read holds one write. */
export const BATCH_CHARACTERS: number = 512 * 1024;
/** Frames that are added to a write before its length is checked. */
const BATCH_STEP = 16;
/** Most parts made in advance. The other frames wait in the subscription, which counts those that it drops. */
const MAX_PARTS = 4;

/** What a channel consists of. */
export interface StreamChannelOptions {
  /** Clients with the same key share the channel; undefined: it is not shared. */
  key: string | undefined;
  subscription: Subscription;
  /** Whether its clients want every frame. */
  isAll: boolean;
  /** JSON of a frame as these clients want it; undefined when the ring has let it go. */
  text: (seq: number) => string | undefined;
  /** Closes the subscription, after the last client has left. */
  close: () => void;
}

/** When and for how long a channel was sent to last. */
export interface Turn {
  startMs: number;
  tookMs: number;
  /** It was interrupted, so its remaining clients are due at once. */
  isUnfinished: boolean;
}

/** Frames, or a report of lost frames, for the clients that were there when it was made. */
interface Part {
  readonly what: Batch | SkippedFrames;
  readonly clients: readonly StreamClient[];
  /** Number of clients that have got it. */
  sent: number;
}

/** Clients that want the same frames share one subscription and the bytes made of it. */
export class StreamChannel {
  readonly key: string | undefined;
  readonly subscription: Subscription;
  readonly close: () => void;
  /** Kept by the hub. */
  readonly turn: Turn = { startMs: -Infinity, tookMs: 0, isUnfinished: false };
  readonly #isAll: boolean;
  readonly #text: (seq: number) => string | undefined;
  readonly #clients = new Set<StreamClient>();
  readonly #parts: Part[] = [];
  /** Of clients that came while frames waited, the newest of those: they get what comes behind it. */
  readonly #joined = new Map<StreamClient, number>();

  /** Makes a channel without clients. */
  constructor({ key, subscription, isAll, text, close }: StreamChannelOptions) {
    this.key = key;
    this.subscription = subscription;
    this.close = close;
    this.#isAll = isAll;
    this.#text = text;
  }

  get clients(): ReadonlySet<StreamClient> {
    return this.#clients;
  }

  /** Whether something waits that not all clients have. */
  get isBehind(): boolean {
    return this.subscription.waiting > 0 || this.#parts.length > 0;
  }

  /** Adds a client; its first frame is the next one published. */
  add(client: StreamClient): void {
    // Frames dropped before it joined are reported to the others alone.
    if (this.subscription.hasDropped) this.#collect();
    const { newest } = this.subscription;
    if (newest !== undefined) this.#joined.set(client, newest);
    this.#clients.add(client);
  }

  /** Removes a client. Returns whether it was one. */
  delete(client: StreamClient): boolean {
    this.#joined.delete(client);
    return this.#clients.delete(client);
  }

  /** Sends all that waits. Returns how many frames were dropped because clients were too slow. */
  flush(): number {
    this.#collect();
    return this.send();
  }

  /**
   * Sends what waits. Returns how many frames were dropped because clients were too slow.
   *
   * @param isOver checked after each client; true stops the sending
   */
  send(isOver: () => boolean = () => false): number {
    if (this.#parts.length < MAX_PARTS) this.#collect(this.subscription.hasDropped ? Infinity : MAX_PARTS);
    let dropped = 0;
    for (let part = this.#parts[0]; part; part = this.#parts[0]) {
      const { what, clients } = part;
      while (part.sent < clients.length) {
        const client = clients[part.sent++];
        if (client && this.#clients.has(client)) dropped += this.#give(client, what);
        if (isOver()) return dropped;
      }
      this.#parts.shift();
    }
    // Whatever waited when they came has been sent: numbers may begin again.
    if (this.subscription.waiting === 0) this.#joined.clear();
    return dropped;
  }

  #give(client: StreamClient, what: Batch | SkippedFrames): number {
    if (!(what instanceof Batch)) {
      client.lost(what);
      return 0;
    }
    const seq = this.#joined.get(client);
    const wanted = seq === undefined ? what : what.after(seq);
    return wanted === undefined ? 0 : client.deliver(wanted);
  }

  /** Reports skipped frames, in order. With a filter their count is unknown. */
  skip(frames: SkippedFrames): void {
    this.#collect();
    this.#parts.push(this.#part(this.#isAll ? frames : { ...frames, count: null }));
  }

  /** Makes parts of what waits. Drops are reported in order: after all earlier frames. */
  #collect(batches: number = Infinity): void {
    const { subscription } = this;
    for (let made = 0; made < batches && subscription.waiting > 0; made++) {
      const seqs: number[] = [];
      const texts: string[] = [];
      let characters = 0;
      const add = (seq: number) => {
        const text = this.#text(seq);
        if (text === undefined) return subscription.drop(seq);
        seqs.push(seq);
        texts.push(text);
        characters += text.length;
      };
      while (subscription.waiting > 0 && seqs.length < BATCH_FRAMES && characters < BATCH_CHARACTERS) {
        subscription.drain(add, BATCH_STEP);
      }
      if (seqs.length > 0) this.#parts.push(this.#part(new Batch(seqs, texts)));
    }
    const dropped = subscription.waiting === 0 ? subscription.takeDropped() : undefined;
    if (dropped) this.#parts.push(this.#part(dropped));
  }

  #part(what: Batch | SkippedFrames): Part {
    return { what, clients: [...this.#clients], sent: 0 };
  }
}
