import type { SkippedFrames, Subscription } from "../broker/mod.ts";
import { Batch } from "./batch.ts";
import type { StreamClient } from "./stream_client.ts";

/** Most frames in one write … */
const BATCH_FRAMES = 512;
/** … which takes no more frames from so many characters on: the connection of a client that does not read holds one write. */
const BATCH_CHARACTERS = 512 * 1024;
/** Frames that are read without a look at their length. */
const BATCH_STEP = 16;
/** While so many parts wait to be sent no more is taken from the subscription, which counts what it has no room for. */
const MAX_PARTS = 4;

/** How a channel is made. */
export interface StreamChannelOptions {
  /** By what other clients find it; undefined: it is not shared. */
  key: string | undefined;
  subscription: Subscription;
  /** Whether its clients want every frame. */
  isAll: boolean;
  /** JSON of a frame as these clients want it; undefined when the ring has let it go. */
  text: (seq: number) => string | undefined;
  /** Called when it is of no more use. */
  close: () => void;
}

/** Something on its way to those who were clients when it was made: frames, or a report of frames that were lost. */
interface Part {
  readonly what: Batch | SkippedFrames;
  readonly clients: readonly StreamClient[];
  /** How many of the clients have it. */
  sent: number;
}

/** Clients that want the same frames share one subscription and the bytes made of it. */
export class StreamChannel {
  readonly key: string | undefined;
  readonly subscription: Subscription;
  readonly close: () => void;
  readonly #isAll: boolean;
  readonly #text: (seq: number) => string | undefined;
  readonly #clients = new Set<StreamClient>();
  readonly #parts: Part[] = [];
  /** Of clients that came while frames waited, the newest of those: they get what comes behind it. */
  readonly #joined = new Map<StreamClient, number>();

  /** Without clients. */
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

  /** Adds a client, which gets what comes from now on. */
  add(client: StreamClient): void {
    // What was dropped before is not its concern.
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

  /** Sends all that waits. Returns how many frames were dropped: clients were too slow. */
  flush(): number {
    this.#collect();
    return this.send();
  }

  /**
   * Sends what waits until it is asked to stop, which is looked at after each client. Returns how many frames were dropped:
   * clients were too slow.
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

  /** Tells of frames that are passed over, after those before them. How many of them a filter wants nobody knows yet. */
  skip(frames: SkippedFrames): void {
    this.#collect();
    this.#parts.push(this.#part(this.#isAll ? frames : { ...frames, count: null }));
  }

  /** Makes parts of what waits. What was dropped is told before later frames, so all that came before goes first. */
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
