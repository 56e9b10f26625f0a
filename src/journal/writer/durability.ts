import type { RecordedCounts } from "./journal_writer_types.ts";

/** A frame's position: the first four bytes of its epoch, and its sequence number. */
interface FramePosition {
  epochWord: number;
  seq: number;
}

/** Consecutive frames that are not synced yet; `seq` is the last of them. */
interface UnsyncedSpan extends FramePosition {
  frames: number;
  /** When the first of them was appended, monotonic milliseconds. */
  sinceMs: number;
}

/** At this many spans the newest one is extended instead, which overstates its age. */
const MAX_SPANS = 256;

/** A caller that waits until a frame is durable. */
interface Waiter extends FramePosition {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Tracks the durable sequence number of each epoch, the age of the oldest unsynced frame, and the waiting callers. */
export class Durability {
  readonly #seqs = new Map<number, number>();
  readonly #counts = new Map<number, { appended: number; lost: number }>();
  readonly #nowMs: () => number;
  /** Oldest first. */
  readonly #unsynced: UnsyncedSpan[] = [];
  #startsSpan = true;
  #waiters: Waiter[] = [];

  /** @param nowMs monotonic milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Time when the oldest unsynced frame was appended, monotonic milliseconds; undefined if all are synced. */
  get unsyncedSinceMs(): number | undefined {
    return this.#unsynced[0]?.sinceMs;
  }

  /** Records that a frame was appended to memory. */
  noteAppended(epochWord: number, seq: number): void {
    this.#countsOf(epochWord).appended++;
    const newest = this.#startsSpan ? undefined : this.#unsynced.at(-1);
    if (newest?.epochWord === epochWord) {
      newest.seq = seq;
      newest.frames++;
    } else {
      this.#startsSpan = false;
      this.#unsynced.push({ epochWord, seq, frames: 1, sinceMs: this.#nowMs() });
    }
  }

  /** Records that a frame is lost. */
  noteLost(epochWord: number): void {
    this.#countsOf(epochWord).lost++;
  }

  /** Frames of an epoch. Those of a sync wait until it is complete. */
  counts(epochWord: number): RecordedCounts {
    const waiting = this.#unsynced.reduce((sum, span) => span.epochWord === epochWord ? sum + span.frames : sum, 0);
    return { ...this.#countsOf(epochWord), waiting };
  }

  #countsOf(epochWord: number): { appended: number; lost: number } {
    let counts = this.#counts.get(epochWord);
    if (counts === undefined) this.#counts.set(epochWord, counts = { appended: 0, lost: 0 });
    return counts;
  }

  /** Marks the start of a sync: frames appended from now on belong to the next one. */
  startSpan(): void {
    this.#startsSpan = this.#unsynced.length < MAX_SPANS;
  }

  /** Newest durable frame of an epoch; 0 before the first. */
  seqOf(epochWord: number): number {
    return this.#seqs.get(epochWord) ?? 0;
  }

  /** Marks everything up to a frame as durable. {@linkcode Durability.resolveWaiters} resolves the waiting callers. */
  noteDurable({ epochWord, seq }: FramePosition): void {
    this.#seqs.set(epochWord, Math.max(this.seqOf(epochWord), seq));
    while (this.#unsynced[0] && this.has(this.#unsynced[0])) this.#unsynced.shift();
  }

  /** True if a frame is durable. */
  has({ epochWord, seq }: FramePosition): boolean {
    return this.seqOf(epochWord) >= seq;
  }

  /** Resolves when a frame is durable. */
  wait(frame: FramePosition): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ ...frame, resolve, reject }));
  }

  /** Resolves the callers whose frame is durable. */
  resolveWaiters(): void {
    const waiters = this.#waiters;
    this.#waiters = waiters.filter((waiter) => !this.has(waiter));
    for (const waiter of waiters) if (this.has(waiter)) waiter.resolve();
  }

  /** Rejects all waiting callers: nothing more is written. */
  end(): void {
    for (const { reject } of this.#waiters.splice(0)) reject(notDurable());
  }
}

/** Error for callers whose frame did not become durable. */
export function notDurable(): Error {
  return new Error("The journal was closed before the frames were on disk");
}
