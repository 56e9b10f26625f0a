import type { Broker } from "../broker/mod.ts";
import type { Block, SeqRange } from "../journal/mod.ts";

/**
 * Numbers without a frame in the archive; `end` is exclusive.
 *
 * - `void`: they never had one
 * - `awaited`: their frames are on the way, and readers wait for them
 * - `late`: their frames may still come, and readers do not wait for them
 * - `lost`: their frames cannot be had any more
 */
export type AbsentFrames =
  & { start: number; end: number }
  & ({ kind: "void" } | { kind: "awaited" } | { kind: "late" } | { kind: "lost"; reason: string });

/** Frames that are kept longer than in the ring. */
export interface FrameArchive {
  /** Oldest sequence number kept; undefined when there is nothing. */
  readonly oldestSeq: number | undefined;
  /** True where a frame is in the archive as soon as it has a number; default false. */
  readonly isComplete?: boolean;
  /** False while it takes no frames: those that it does not give, it never got. Default true. */
  readonly isTaking?: boolean;
  /**
   * The first numbers without a frame, from one number to another, both included, where the archive knows more of them
   * than its blocks say. What it does not name should be there. Default: nothing is known.
   */
  absentFrom?(fromSeq: number, throughSeq: number): AbsentFrames | undefined;
  /** Numbers that an unclean stop may have taken with it, and those that the start after it skipped; default none. */
  readonly uncleanRange?: SeqRange | undefined;
  /** Blocks with frames from `fromSeq` on, in order; the first may begin before it, the last hold what is not on disk. */
  blocks(range: { fromSeq: number }): AsyncGenerator<Block>;
}

/** A journal, as far as whoever reads it live must know it. */
export interface FrameJournal {
  readonly index: FrameArchive;
  /** Resolves when every frame recorded so far is safe from a power cut. */
  sync(): Promise<void>;
}

/** Frames wait this long for company before readers are woken. */
const TICK_MS = 4;

/** All frames that can still be read: the archive's, the ring's, and those to come. */
export class FrameSource {
  readonly broker: Broker;
  readonly archive: FrameArchive | undefined;
  readonly #waiting = new Set<() => void>();
  #disarm: (() => void) | undefined;

  /** @param options.archive none: the ring is all there is */
  constructor(broker: Broker, { archive }: { archive?: FrameArchive | undefined } = {}) {
    this.broker = broker;
    this.archive = archive;
  }

  /** Newest sequence number; the one before the first when there is none. */
  get head(): number {
    return this.broker.head;
  }

  /** Oldest sequence number that may still be read. */
  get oldestSeq(): number {
    return Math.min(this.archive?.oldestSeq ?? Infinity, this.broker.ring.oldest);
  }

  /** The first numbers from `seq` to the head of which the archive knows that it has no frames. */
  absentFrom(seq: number): AbsentFrames | undefined {
    return this.archive?.absentFrom?.(seq, this.head);
  }

  /** True when who reads from `seq` on misses frames that were there. */
  isGone(fromSeq: number): boolean {
    const { uncleanRange: range, oldestSeq = Infinity } = this.archive ?? {};
    // What an unclean stop took is reported in the stream, which goes on after it.
    const seq = range && range.from <= fromSeq && fromSeq <= range.to ? range.to + 1 : fromSeq;
    const absent = this.absentFrom(seq);
    if (absent && absent.start <= seq) return false;
    return seq <= this.broker.ring.goneThrough && seq < oldestSeq;
  }

  /** The archive has changed: readers that wait look again. */
  changed(): void {
    if (this.#waiting.size > 0) this.#wakeAll();
  }

  /** Calls `wake` once, soon after the next frame or change. Returns the way to take it back. */
  onFrames(wake: () => void): () => void {
    this.#waiting.add(wake);
    this.#disarm ??= this.#arm();
    return () => {
      if (this.#waiting.delete(wake) && this.#waiting.size === 0) this.#stopWaiting();
    };
  }

  /** One timer for all who wait: frames come by the thousand. */
  #arm(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const takeBack = this.broker.onPublish(() => timer = setTimeout(() => this.#wakeAll(), TICK_MS));
    return () => {
      takeBack();
      clearTimeout(timer);
    };
  }

  #wakeAll(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#stopWaiting();
    for (const wake of waiting) wake();
  }

  #stopWaiting(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }
}
