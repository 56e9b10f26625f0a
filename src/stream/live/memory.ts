import type { Batch, StreamKind } from "./batch.ts";

/**
 * What the transport holds at most for a session whose client does not read, beside the kernel's buffers: the buffer of the
 * connection (64 KiB), and two writes of a session that are on their way there.
 */
export const TRANSPORT_BYTES = 512 * 1024;
/** When the budget is exceeded queues are dropped until this part of it is in use, so that it is not exceeded again at once. */
const RELIEVED = 7 / 8;
/** How often the transport buffers are summed up. */
const LOOK_EVERY_MS = 1000;

/** The default budget when the wiring says nothing else. */
export const DEFAULT_STREAM_MEMORY_BYTES = 256 * 1024 * 1024;

/** One stream as the budget knows it. */
export interface StreamMember {
  /** Bytes in the stream's own queue. */
  readonly queuedBytes: number;
  /** Bytes that its transport holds, as far as known; 0 while its client reads. */
  readonly transportBytes: number;
  /** Drops the queue, and counts and reports what was in it. Left out where nothing may be dropped. */
  shed?(): void;
}

/** The memory of all streams of a server. Bytes that several queues share count once. */
export class StreamMemory {
  readonly limitBytes: number;
  readonly #members = new Set<StreamMember>();
  #queuedBytes = 0;
  #transportBytes = 0;
  #lookedMs = -Infinity;

  /** @param limitBytes the budget */
  constructor(limitBytes: number = DEFAULT_STREAM_MEMORY_BYTES) {
    this.limitBytes = limitBytes;
  }

  /** Bytes in use: queues now, transport buffers as of the last look. */
  get usedBytes(): number {
    return this.#queuedBytes + this.#transportBytes;
  }

  /** Whether there is nothing left for another stream. */
  get isFull(): boolean {
    return this.usedBytes >= this.limitBytes;
  }

  /** Whether clients that read should no longer get more than a little at once. */
  get isHalfFull(): boolean {
    return this.usedBytes >= this.limitBytes / 2;
  }

  /** Whether streams that read at their own pace should read in small portions. */
  get isTight(): boolean {
    return this.usedBytes >= this.limitBytes * RELIEVED;
  }

  /** Adds a stream. Returns the way to remove it; safe to call twice. */
  join(member: StreamMember): () => void {
    this.#members.add(member);
    return () => void this.#members.delete(member);
  }

  /** A queue holds a batch. */
  hold(batch: Batch, kind: StreamKind): void {
    if (batch.holders[kind]++ === 0) this.#queuedBytes += batch.bytesFor(kind);
  }

  /** A queue holds a batch no longer. */
  release(batch: Batch, kind: StreamKind): void {
    if (--batch.holders[kind] === 0) this.#queuedBytes -= batch.bytesFor(kind);
  }

  /** A queue holds bytes of its own; negative when it holds them no longer. */
  add(bytes: number): void {
    this.#queuedBytes += bytes;
  }

  /** Sums up the transport buffers, at most once a second however often it is called, and keeps the budget. */
  look(nowMs: number): void {
    if (nowMs - this.#lookedMs < LOOK_EVERY_MS / 2) return;
    this.#lookedMs = nowMs;
    this.#transportBytes = 0;
    for (const { transportBytes } of this.#members) this.#transportBytes += transportBytes;
    this.keep();
  }

  /** Keeps the budget: while it is exceeded the longest queues are dropped. */
  keep(): void {
    if (this.usedBytes <= this.limitBytes) return;
    const target = this.limitBytes * RELIEVED;
    const longestFirst = [...this.#members].filter(({ shed, queuedBytes }) => shed !== undefined && queuedBytes > 0)
      .sort((a, b) => b.queuedBytes - a.queuedBytes);
    for (const member of longestFirst) {
      if (this.usedBytes <= target) return;
      member.shed?.();
    }
  }
}
