import type { DroppedFrames } from "../../broker/mod.ts";
import { Chunk } from "./chunk.ts";

/** What an envelope adds to the text of a frame, and the string object. */
const ENVELOPE_BYTES = 64;

/** How a client of a stream is connected. */
export type StreamKind = "sse" | "websocket";

/** Frames that leave together. What each kind of client needs of them is made once, on first demand, and shared. */
export class Batch {
  readonly count: number;
  /** Queues that hold it, by kind of client: see `StreamMemory`. */
  readonly holders: Record<StreamKind, number> = { sse: 0, websocket: 0 };
  readonly #seqs: readonly number[];
  readonly #texts: readonly string[];
  #events: Chunk | undefined;
  #envelopes: readonly string[] | undefined;
  #envelopeBytes: number | undefined;

  /**
   * @param seqs numbers of the frames, ascending, at least one
   * @param texts their JSON
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

  /** The frames behind a number as a batch of their own; undefined: there are none. */
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

  /** Memory that it takes while clients of a kind wait for it, bytes. */
  bytesFor(kind: StreamKind): number {
    if (kind === "sse") return this.events.coded.length;
    return this.#envelopeBytes ??= this.#texts.reduce((sum, { length }) => sum + length + ENVELOPE_BYTES, 0);
  }

  /** The frames from an index on, as a report of their loss. */
  droppedFrom(index: number): DroppedFrames {
    return { from_seq: this.#seqs[index] ?? 0, to_seq: this.lastSeq, count: this.count - index };
  }
}
