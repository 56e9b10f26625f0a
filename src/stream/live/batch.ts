import { Buffer } from "node:buffer";
import type { DroppedFrames } from "../../broker/mod.ts";

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
