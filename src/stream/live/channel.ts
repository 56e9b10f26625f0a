import type { SourceEvent } from "./source_watch.ts";
import type { DroppedFrames, SkippedFrames, Subscription } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import { Buffer } from "node:buffer";

/** Part of a body in chunked transfer coding (RFC 9112 §7.1): encoded once and sent on any number of connections. */
export class Chunk {
  /** The data with the chunk's size line and end, for HTTP/1.1. */
  readonly coded: Buffer<ArrayBuffer>;
  /** The data alone. */
  readonly data: Buffer<ArrayBuffer>;

  /** @param text must not be empty: an empty chunk ends the body */
  constructor(text: string) {
    const size = `${Buffer.byteLength(text).toString(16)}\r\n`;
    this.coded = Buffer.from(`${size}${text}\r\n`);
    this.data = this.coded.subarray(size.length, -2);
  }
}

/** Memory of a WebSocket message beyond the frame's text: envelope and string object. */
const ENVELOPE_BYTES = 64;

/** Transport of a stream's client. */
export type StreamKind = "sse" | "websocket";

/** Frames that are sent together. The encoding for each transport is created once, on first demand, and shared. */
export class Batch {
  readonly count: number;
  /** Number of queues that hold the batch, by transport: see `StreamMemory`. */
  readonly holders: Record<StreamKind, number> = { sse: 0, websocket: 0 };
  readonly #seqs: readonly number[];
  readonly #texts: readonly string[];
  #events: Chunk | undefined;
  #envelopes: readonly string[] | undefined;
  #envelopeBytes: number | undefined;

  /**
   * @param seqs sequence numbers, ascending, at least one
   * @param texts JSON of each frame
   */
  constructor(seqs: readonly number[], texts: readonly string[]) {
    this.count = seqs.length;
    this.#seqs = seqs;
    this.#texts = texts;
  }

  get firstSeq(): number {
    return this.#seqs[0] ?? 0;
  }

  get lastSeq(): number {
    return this.#seqs.at(-1) ?? 0;
  }

  /** A batch of the frames after a number; undefined when there are none. */
  after(seq: number): Batch | undefined {
    if (this.firstSeq > seq) return this;
    const first = this.#seqs.findIndex((each) => each > seq);
    return first < 0 ? undefined : new Batch(this.#seqs.slice(first), this.#texts.slice(first));
  }

  /** As server-sent events. */
  get events(): Chunk {
    return this.#events ??= new Chunk(`data: ${this.#texts.join("\n\ndata: ")}\n\n`);
  }

  /** As WebSocket messages. */
  get envelopes(): readonly string[] {
    return this.#envelopes ??= this.#texts.map((text) => `{"type":"frame","data":${text}}`);
  }

  /** Memory of the encoding for one transport, bytes. */
  bytesFor(kind: StreamKind): number {
    if (kind === "sse") return this.events.coded.length;
    return this.#envelopeBytes ??= this.#texts.reduce((sum, { length }) => sum + length + ENVELOPE_BYTES, 0);
  }

  /** Loss report of the frames from an index on. */
  droppedFrom(index: number): DroppedFrames {
    return { from_seq: this.#seqs[index] ?? 0, to_seq: this.lastSeq, count: this.count - index };
  }
}

/** A client of a live stream. */
export interface StreamClient {
  readonly kind: StreamKind;
  /** Bytes that wait because the client has not read them yet. */
  readonly waitingBytes: number;
  /** The part of `waitingBytes` in the client's own queue, which can still be dropped. */
  readonly queuedBytes: number;
  /** Bytes in its transport, as far as known; 0 while the client reads. */
  readonly transportBytes: number;
  /** Whether data waits that only a call of `drain` sends. */
  readonly needsDrain: boolean;
  /** Sends a batch, or drops it when the client is too slow. Returns the number of frames dropped. */
  deliver(batch: Batch): number;
  /** Records frames that were dropped or are not available, for a report to the client. */
  lost(dropped: SkippedFrames): void;
  /** Sends a device event, if the client has asked for them. */
  device(event: DeviceEvent): void;
  /** Sends a switch of a quantity's source, if the client has asked for them. */
  source(event: SourceEvent): void;
  /** Sends waiting data as far as the client reads it. Returns whether any was sent. */
  drain(): boolean;
  /** Drops the queue and reports it to the client. Returns the number of frames dropped. */
  shed(): number;
  /** Called periodically: reports drops, sends keep-alives. */
  housekeeping(nowMs: number): void;
  /** Ends the stream because the server is stopping. */
  end(): void;
}

/** Most frames in one write. */
export const BATCH_FRAMES = 512;
/** A write of this length gets no further frames: the connection of a client that does not read holds one write. */
export const BATCH_CHARACTERS: number = 512 * 1024;
/** Frames added to a write between two checks of its length. */
const BATCH_STEP = 16;
/** Most parts prepared in advance. Other frames wait in the subscription, which counts its drops. */
const MAX_PARTS = 4;

/** Options of a {@linkcode StreamChannel}. */
export interface StreamChannelOptions {
  /** Clients with the same key share the channel; undefined: not shared. */
  key: string | undefined;
  subscription: Subscription;
  /** Whether the filter accepts every frame. */
  isAll: boolean;
  /** Minimum time between two turns, milliseconds. */
  batchMs: number;
  /** JSON of a frame in the detail of these clients; undefined when it is not in the ring. */
  text: (seq: number) => string | undefined;
  /** Closes the subscription, after the last client has left. */
  close: () => void;
}

/** The last turn of a channel: when it began and how long it took, milliseconds. */
export interface Turn {
  startMs: number;
  tookMs: number;
  /** The turn was interrupted, so the remaining clients are due at once. */
  isUnfinished: boolean;
}

/** Frames, or a report of lost frames, for the clients of the channel at its creation. */
interface Part {
  readonly content: Batch | SkippedFrames;
  readonly clients: readonly StreamClient[];
  /** Number of clients it was sent to. */
  sent: number;
}

/** Clients with the same filter and detail, which share one subscription and its encoded frames. */
export class StreamChannel {
  readonly key: string | undefined;
  readonly subscription: Subscription;
  readonly close: () => void;
  /** Minimum time between two turns, milliseconds. */
  readonly batchMs: number;
  /** Maintained by the hub. */
  readonly turn: Turn = { startMs: -Infinity, tookMs: 0, isUnfinished: false };
  readonly #isAll: boolean;
  readonly #text: (seq: number) => string | undefined;
  readonly #clients = new Set<StreamClient>();
  readonly #parts: Part[] = [];
  /** For clients that joined while frames were waiting: the newest of these. They get only later frames. */
  readonly #joined = new Map<StreamClient, number>();

  constructor({ key, subscription, isAll, batchMs, text, close }: StreamChannelOptions) {
    this.batchMs = batchMs;
    this.key = key;
    this.subscription = subscription;
    this.close = close;
    this.#isAll = isAll;
    this.#text = text;
  }

  get clients(): ReadonlySet<StreamClient> {
    return this.#clients;
  }

  /** Whether something waits that not all clients have got. */
  get hasWaiting(): boolean {
    return this.subscription.waiting > 0 || this.#parts.length > 0;
  }

  /** Adds a client, from the next published frame on. */
  add(client: StreamClient): void {
    // Frames dropped before it joined are reported to the others alone.
    if (this.subscription.hasDropped) this.#collect();
    const { newest } = this.subscription;
    if (newest !== undefined) this.#joined.set(client, newest);
    this.#clients.add(client);
  }

  /** Removes a client. Returns false if it was not in the channel. */
  delete(client: StreamClient): boolean {
    this.#joined.delete(client);
    return this.#clients.delete(client);
  }

  /** Sends everything that waits. Returns the number of frames dropped because clients were too slow. */
  flush(): number {
    this.#collect();
    return this.send();
  }

  /**
   * Sends waiting parts. Returns the number of frames dropped because clients were too slow.
   *
   * @param isOver checked after each client; true stops the sending
   */
  send(isOver: () => boolean = () => false): number {
    if (this.#parts.length < MAX_PARTS) this.#collect(this.subscription.hasDropped ? Infinity : MAX_PARTS);
    let dropped = 0;
    for (let part = this.#parts[0]; part; part = this.#parts[0]) {
      const { content, clients } = part;
      while (part.sent < clients.length) {
        const client = clients[part.sent++];
        if (client && this.#clients.has(client)) dropped += this.#sendTo(client, content);
        if (isOver()) return dropped;
      }
      this.#parts.shift();
    }
    // All frames that waited when they joined have been sent, and a new epoch may begin.
    if (this.subscription.waiting === 0) this.#joined.clear();
    return dropped;
  }

  #sendTo(client: StreamClient, content: Batch | SkippedFrames): number {
    if (!(content instanceof Batch)) {
      client.lost(content);
      return 0;
    }
    const seq = this.#joined.get(client);
    const wanted = seq === undefined ? content : content.after(seq);
    return wanted === undefined ? 0 : client.deliver(wanted);
  }

  /** Reports skipped frames, in order. With a filter their count is unknown. */
  skip(frames: SkippedFrames): void {
    this.#collect();
    this.#parts.push(this.#part(this.#isAll ? frames : { ...frames, count: null }));
  }

  /** Prepares parts from waiting frames. Drops are reported in order, after all earlier frames. */
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

  #part(content: Batch | SkippedFrames): Part {
    return { content, clients: [...this.#clients], sent: 0 };
  }
}
