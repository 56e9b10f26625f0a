import type { Broker } from "../broker/mod.ts";
import type { Block, SeqRange } from "../journal/mod.ts";

/**
 * Range of numbers without a frame in the archive; `end` is exclusive.
 *
 * - `void`: skipped, never assigned to a frame
 * - `awaited`: backfill is about to deliver the frames; readers wait
 * - `late`: backfill may deliver the frames later; readers do not wait
 * - `lost`: the frames cannot be recovered
 */
export type AbsentFrames =
  & { start: number; end: number }
  & ({ kind: "void" } | { kind: "awaited" } | { kind: "late" } | { kind: "lost"; reason: string });

/** Storage of frames beyond the ring. */
export interface FrameArchive {
  /** Oldest sequence number stored; undefined when empty. */
  readonly oldestSeq: number | undefined;
  /** True where every published frame is in the archive at once; default false. */
  readonly isComplete?: boolean;
  /** False while recording is off: frames that the archive does not return were never recorded. Default true. */
  readonly isRecording?: boolean;
  /**
   * The first range without frames between two numbers, both inclusive. For archives that track absent frames; every
   * number outside these ranges has a frame. Default: not tracked.
   */
  absentFrom?(fromSeq: number, throughSeq: number): AbsentFrames | undefined;
  /** Numbers that an unclean stop may have lost and that the next start skipped; default none. */
  readonly uncleanRange?: SeqRange | undefined;
  /** Blocks from the one with `fromSeq` on, in order. The last ones may not be on disk yet. */
  blocks(range: { fromSeq: number }): AsyncGenerator<Block>;
}

/** Delay between a frame and waking the readers, so that they get several frames at once. */
const TICK_MS = 4;

/** All readable frames: those of the archive, those in the ring, and live ones. */
export class FrameSource {
  readonly broker: Broker;
  readonly archive: FrameArchive | undefined;
  readonly #waiting = new Set<() => void>();
  #disarm: (() => void) | undefined;

  /** @param options.archive default none: only the ring is read */
  constructor(broker: Broker, { archive }: { archive?: FrameArchive | undefined } = {}) {
    this.broker = broker;
    this.archive = archive;
  }

  /** Newest sequence number; the one before the first when there is none. */
  get head(): number {
    return this.broker.head;
  }

  /** Oldest sequence number that can be read. */
  get oldestSeq(): number {
    return Math.min(this.archive?.oldestSeq ?? Infinity, this.broker.ring.oldest);
  }

  /** The first range without frames between `seq` and the head; undefined when the archive knows of none. */
  absentFrom(seq: number): AbsentFrames | undefined {
    return this.archive?.absentFrom?.(seq, this.head);
  }

  /** True when frames from `fromSeq` on have been deleted, so that a reader would miss them. */
  hasFallenBehind(fromSeq: number): boolean {
    const { uncleanRange: range, oldestSeq = Infinity } = this.archive ?? {};
    // The stream itself reports what an unclean stop lost, and continues after it.
    const seq = range && range.from <= fromSeq && fromSeq <= range.to ? range.to + 1 : fromSeq;
    const absent = this.absentFrom(seq);
    if (absent && absent.start <= seq) return false;
    return seq <= this.broker.ring.evictedThrough && seq < oldestSeq;
  }

  /** Wakes waiting readers after a change of the archive. */
  changed(): void {
    if (this.#waiting.size > 0) this.#wakeAll();
  }

  /** Calls `wake` once, soon after the next frame or change. Returns a function that cancels it. */
  onFrames(wake: () => void): () => void {
    this.#waiting.add(wake);
    this.#disarm ??= this.#arm();
    return () => {
      if (this.#waiting.delete(wake) && this.#waiting.size === 0) this.#stopWaiting();
    };
  }

  /** Starts one timer for all waiting readers: frames arrive by the thousand. */
  #arm(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cancel = this.broker.onPublish(() => timer = setTimeout(() => this.#wakeAll(), TICK_MS));
    return () => {
      cancel();
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
