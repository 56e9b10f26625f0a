import type { Batch, StreamKind } from "./channel.ts";

/**
 * Most memory of the transport for a session whose client does not read, without the kernel's buffers: the connection's
 * buffer (64 KiB) and two pending writes of the session.
 */
export const TRANSPORT_BYTES = 512 * 1024;
/** When the budget is exceeded, queues are dropped until this fraction is in use, so that it is not exceeded again at once. */
const LOW_WATER = 7 / 8;
/** Interval of summing up the transport buffers. */
const MEASURE_INTERVAL_MS = 1000;

export const DEFAULT_STREAM_MEMORY_BYTES = 256 * 1024 * 1024;

/** One stream that takes part in the budget. */
export interface StreamMember {
  /** Bytes in the stream's own queue. */
  readonly queuedBytes: number;
  /** Bytes in its transport, as far as known; 0 while the client reads. */
  readonly transportBytes: number;
  /** Drops the queue; counts and reports its frames. Missing where nothing may be dropped. */
  shed?(): void;
}

/** Memory budget of all streams of a server. Bytes that several queues share count once. */
export class StreamMemory {
  readonly limitBytes: number;
  readonly #members = new Set<StreamMember>();
  #queuedBytes = 0;
  #transportBytes = 0;
  #measuredMs = -Infinity;

  /** @param limitBytes the budget, default {@linkcode DEFAULT_STREAM_MEMORY_BYTES} */
  constructor(limitBytes: number = DEFAULT_STREAM_MEMORY_BYTES) {
    this.limitBytes = limitBytes;
  }

  /** Bytes in use: queues now, transport buffers as last measured. */
  get usedBytes(): number {
    return this.#queuedBytes + this.#transportBytes;
  }

  /** Whether there is no memory for another stream. */
  get isFull(): boolean {
    return this.usedBytes >= this.limitBytes;
  }

  /** Whether clients that read should get only small portions. */
  get isHalfFull(): boolean {
    return this.usedBytes >= this.limitBytes / 2;
  }

  /** Whether sessions should read in small portions. */
  get isTight(): boolean {
    return this.usedBytes >= this.limitBytes * LOW_WATER;
  }

  /** Adds a stream. Returns a function that removes it; safe to call twice. */
  join(member: StreamMember): () => void {
    this.#members.add(member);
    return () => void this.#members.delete(member);
  }

  /** Counts a batch that was added to a queue. */
  hold(batch: Batch, kind: StreamKind): void {
    if (batch.holders[kind]++ === 0) this.#queuedBytes += batch.bytesFor(kind);
  }

  /** Releases a batch that was removed from a queue. */
  release(batch: Batch, kind: StreamKind): void {
    if (--batch.holders[kind] === 0) this.#queuedBytes -= batch.bytesFor(kind);
  }

  /** Counts bytes that a queue holds for itself; negative to release them. */
  add(bytes: number): void {
    this.#queuedBytes += bytes;
  }

  /** Sums up the transport buffers, at most once a second however often it is called, and enforces the budget. */
  measure(nowMs: number): void {
    if (nowMs - this.#measuredMs < MEASURE_INTERVAL_MS / 2) return;
    this.#measuredMs = nowMs;
    this.#transportBytes = 0;
    for (const { transportBytes } of this.#members) this.#transportBytes += transportBytes;
    this.enforce();
  }

  /** Enforces the budget: drops the longest queues while it is exceeded. */
  enforce(): void {
    if (this.usedBytes <= this.limitBytes) return;
    const target = this.limitBytes * LOW_WATER;
    const longestFirst = [...this.#members].filter(({ shed, queuedBytes }) => shed !== undefined && queuedBytes > 0)
      .sort((a, b) => b.queuedBytes - a.queuedBytes);
    for (const member of longestFirst) {
      if (this.usedBytes <= target) return;
      member.shed?.();
    }
  }
}

/** Counts open streams; several feeds may share it. */
export interface StreamCounter {
  /** Open connections of streams, including those that are about to become or have been one. */
  readonly count: number;
  /** Adds one. Returns a function that removes it; safe to call twice. */
  open(): () => void;
}

/** Counts open streams; the caller enforces the limit. */
export class OpenStreams implements StreamCounter {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  open(): () => void {
    this.#count++;
    let isOpen = true;
    return () => {
      if (isOpen) this.#count--;
      isOpen = false;
    };
  }
}
