import { turn } from "../base/mod.ts";
import type { Accept } from "../broker/mod.ts";
import { newStoredFrame, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { type Block, type BlockCursor, BlockError, type Gap } from "../journal/mod.ts";
import type { RecordedFilter } from "./filters.ts";
import type { AbsentFrames, FrameSource } from "./frame_source.ts";

/** The requested frames have been deleted; reading can begin at `oldestSeq`. */
export class FallenBehindError extends Error {
  override readonly name = "ErrFallenBehind";
  readonly oldestSeq: number;

  constructor(oldestSeq: number) {
    super(`The frames asked for are no longer kept: the oldest is ${oldestSeq}`);
    this.oldestSeq = oldestSeq;
  }
}

/** Range of frames that a reader does not get. */
export interface MissingFrames {
  fromSeq: number;
  toSeq: number;
  /** The archive did not declare them lost: they may exist behind a read error. */
  mayExist?: boolean;
  /** Backfill may deliver them later; this reader does not wait for them. */
  backfill?: boolean;
  /** Why they are lost, where known. `restart`: an unclean stop; the number of frames in the range is unknown. */
  reason?: string;
}

/** Options of a {@linkcode FrameCursor}. */
export interface CursorOptions {
  source: FrameSource;
  /** Sequence number of the first frame to read. */
  fromSeq: number;
  /** Default: accepts every frame. */
  accept?: Accept;
  /** Filter for archived frames; default `accept`. */
  archived?: RecordedFilter;
  /** Reads only the archive, not the ring; needs a complete archive. Default false. */
  archiveOnly?: boolean;
  /** Called with frames that the archive does not have: not recorded, damaged or unreadable. */
  missing?: (frames: MissingFrames) => void;
  /** Called with the numbers that an unclean stop lost and those that the next start skipped. */
  unclean?: (frames: MissingFrames) => void;
}

/** Limits of one read. */
export interface ReadLimits {
  maxFrames: number;
  /** Payload bytes after which the read ends; default no limit. */
  maxBytes?: number;
}

/** Longest time that one slice of reading blocks the event loop. */
const SLICE_MS = 4;
/** Frames between two checks of the time; a power of two. */
const TIME_CHECK_FRAMES = 64;

/** A block being read. */
interface OpenBlock {
  frames: BlockCursor;
  /** Maps bus indexes of the block to bus indexes of the broker. */
  buses: readonly number[];
  endSeq: number;
}

/** Remaining limits of one read. */
interface Budget {
  frames: number;
  bytes: number;
  endMs: number;
  /** The read stops before this number, where a range without frames begins. */
  stopSeq: number;
}

/**
 * Reads frames from a sequence number on, at the reader's pace: from the archive, then from the ring, then live. Each frame
 * is read once and in order. Numbers that never had a frame are skipped. The cursor waits for frames that backfill is about
 * to deliver; it does not return to frames that arrive after it has skipped them.
 */
export class FrameCursor {
  readonly #source: FrameSource;
  readonly #options: CursorOptions;
  readonly #frame = newStoredFrame();
  #next: number;
  #blocks: AsyncGenerator<Block> | undefined;
  #block: OpenBlock | undefined;
  /** Whether the current pass over the archive has returned a block. */
  #progress = false;
  /** Highest number that had been evicted from the ring when that pass began. */
  #evictedAtPassStart = 0;
  /** Number at which a second pass was started because the first one returned only later frames. */
  #secondPassAt = 0;
  /** Whether more frames can be read without waiting. */
  #hasMore = false;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(options: CursorOptions) {
    this.#source = options.source;
    this.#options = options;
    this.#next = options.fromSeq;
  }

  /** Sequence number at which the next read begins. */
  get nextSeq(): number {
    return this.#next;
  }

  /**
   * Waits for at least one accepted frame, then reads what is available, in slices that leave time for other work. The
   * cursor reuses the frame object: copy what must outlive the call.
   *
   * @returns number of frames read; 0 when the cursor is closed
   * @throws {FallenBehindError} the next frames have been deleted
   */
  async read(onFrame: (frame: StoredFrame) => void, { maxFrames, maxBytes = Infinity }: ReadLimits): Promise<number> {
    for (;;) {
      if (this.#hasMore) await turn();
      if (this.#closed) return 0;
      const absent = this.#source.absentFrom(this.#next);
      if (absent && absent.start <= this.#next) {
        if (absent.kind === "awaited") await this.#waitForBackfill();
        else this.#skipAbsent(absent);
        continue;
      }
      const endMs = performance.now() + SLICE_MS;
      const budget: Budget = { frames: maxFrames, bytes: maxBytes, endMs, stopSeq: absent?.start ?? Infinity };
      if (this.#isInRing()) this.#readRing(onFrame, budget);
      else if (this.#next <= this.#source.head) await this.#readArchive(onFrame, budget);
      if (this.#closed) return 0;
      this.#hasMore = this.#next <= this.#source.head;
      if (budget.frames < maxFrames) return maxFrames - budget.frames;
      if (!this.#hasMore) await this.#waitForFrames();
    }
  }

  /** Ends a waiting read and closes the archive's files. */
  close(): void {
    this.#closed = true;
    this.#closeArchive();
    this.#wake?.();
  }

  /** Continues after a range without frames. */
  #skipAbsent(absent: AbsentFrames): void {
    const frames = { fromSeq: this.#next, toSeq: absent.end - 1 };
    this.#next = absent.end;
    if (absent.kind === "late") this.#report({ ...frames, backfill: true });
    else if (absent.kind === "lost") this.#report({ ...frames, reason: absent.reason });
  }

  #isInRing(): boolean {
    return !this.#options.archiveOnly && this.#next > this.#source.broker.ring.evictedThrough;
  }

  #readRing(onFrame: (frame: StoredFrame) => void, budget: Budget): void {
    this.#closeArchive();
    const { ring } = this.#source.broker;
    const { accept } = this.#options;
    const frame = this.#frame;
    const head = Math.min(ring.head, budget.stopSeq - 1);
    // There are no frames between the evicted ones and the oldest.
    let seq = Math.max(this.#next, ring.oldest);
    for (let steps = 1; seq <= head && budget.frames > 0 && budget.bytes > 0; seq++, steps++) {
      if ((steps & (TIME_CHECK_FRAMES - 1)) === 0 && performance.now() > budget.endMs) break;
      if (!ring.read(seq, frame) || (accept && !accept(frame.bus, sourceOfId(frame.id), frame.pgn))) continue;
      budget.frames--;
      budget.bytes -= frame.length;
      onFrame(frame);
    }
    this.#next = Math.min(seq, budget.stopSeq);
  }

  async #readArchive(onFrame: (frame: StoredFrame) => void, budget: Budget): Promise<void> {
    if (!this.#block && this.#source.hasFallenBehind(this.#next)) throw new FallenBehindError(this.#source.oldestSeq);
    const block = this.#block ??= await this.#nextBlock(budget);
    if (this.#closed) return this.#closeArchive();
    if (block) {
      // The time spent waiting for the disk does not count.
      budget.endMs = performance.now() + SLICE_MS;
      this.#readBlock(block, { onFrame, budget });
    } else if (!this.#progress) {
      this.#skipMissing(budget);
    }
  }

  /** Skips frames that the archive does not have although they were evicted from the ring before: recording fails. */
  #skipMissing({ stopSeq }: Budget): void {
    const { archive, broker: { ring: { base } } } = this.#source;
    const { uncleanRange: range } = archive ?? {};
    if (range) this.#reportUnclean({ fromSeq: Math.max(this.#next, range.from), toSeq: Math.min(base, range.to) });
    // Numbers below the base were skipped by a start, unless the archive knows better.
    const fromSeq = archive?.absentFrom ? this.#next : Math.max(this.#next, base + 1);
    const toSeq = Math.min(this.#evictedAtPassStart, stopSeq - 1);
    this.#report({ fromSeq, toSeq, mayExist: archive?.isRecording !== false });
    this.#next = Math.max(fromSeq, toSeq + 1);
  }

  /** The next block with frames to read; undefined at the end, where `#progress` tells whether another pass is needed. */
  async #nextBlock(budget: Budget): Promise<OpenBlock | undefined> {
    for (;;) {
      if (!this.#blocks) {
        this.#progress = false;
        this.#evictedAtPassStart = this.#source.broker.ring.evictedThrough;
        this.#blocks = this.#source.archive?.blocks({ fromSeq: this.#next });
      }
      const result = await this.#blocks?.next();
      // Frames may have arrived or been declared lost meanwhile.
      budget.stopSeq = this.#source.absentFrom(this.#next)?.start ?? Infinity;
      if (!result || result.done) {
        this.#blocks = undefined;
        return undefined;
      }
      const { baseSeq, frameCount } = result.value;
      if (baseSeq === undefined || baseSeq + frameCount <= this.#next) continue;
      this.#progress = true;
      if (baseSeq > this.#next && this.#startSecondPass()) continue;
      return this.#openBlock(result.value, Math.min(baseSeq, budget.stopSeq));
    }
  }

  /** Starts a second pass for numbers that should exist: they may have arrived since the first one began. */
  #startSecondPass(): boolean {
    if (!this.#source.archive?.absentFrom || this.#secondPassAt === this.#next) return false;
    this.#secondPassAt = this.#next;
    this.#closeArchive();
    return !this.#closed;
  }

  /** @param readableFrom numbers without a frame before this one are reported */
  #openBlock(block: Block, readableFrom: number): OpenBlock {
    const { metadata, devices } = block;
    const { archived } = this.#options;
    const ours = this.#source.broker.buses;
    const buses = (metadata.buses ?? []).map((name, index) => ours.includes(name) ? ours.indexOf(name) : index);
    const holders = devices.map((device) => ({ ...device, bus: buses[device.bus] ?? device.bus }));
    archived?.enter(ours, holders);
    this.#reportBefore(readableFrom, metadata.gap);
    return {
      frames: block.frames(),
      buses,
      endSeq: (block.baseSeq ?? 0) + block.frameCount,
    };
  }

  /** Reports the numbers without a frame before a block. */
  #reportBefore(baseSeq: number, gap: Gap | undefined): void {
    const gapSeq = Math.min(baseSeq, Math.max(this.#next, gap?.firstMissing ?? baseSeq));
    // Numbers before the declared gap had frames once.
    this.#report({ fromSeq: this.#next, toSeq: gapSeq - 1, mayExist: true });
    const range = { fromSeq: gapSeq, toSeq: baseSeq - 1 };
    if (gap?.reason === "restart") this.#reportUnclean(range);
    else this.#report(range);
  }

  #reportUnclean(range: MissingFrames): void {
    // An archive that tracks absent frames may get these from another source.
    if (!this.#source.archive?.absentFrom) this.#report({ ...range, reason: "restart" });
  }

  #report(frames: MissingFrames): void {
    const report = frames.reason === "restart" ? this.#options.unclean : this.#options.missing;
    if (frames.fromSeq <= frames.toSeq) report?.(frames);
  }

  #readBlock(block: OpenBlock, { onFrame, budget }: { onFrame: (frame: StoredFrame) => void; budget: Budget }): void {
    const { archived, accept } = this.#options;
    const frame = this.#frame;
    const { frames, buses } = block;
    try {
      for (let steps = 1; budget.frames > 0 && budget.bytes > 0; steps++) {
        if ((steps & (TIME_CHECK_FRAMES - 1)) === 0 && performance.now() > budget.endMs) return;
        if (!frames.next(frame)) {
          this.#next = Math.max(this.#next, block.endSeq);
          this.#block = undefined;
          return;
        }
        if (frame.seq < this.#next) continue;
        if (frame.seq >= budget.stopSeq) {
          this.#next = budget.stopSeq;
          return this.#closeArchive();
        }
        this.#next = frame.seq + 1;
        frame.bus = buses[frame.bus] ?? frame.bus;
        const isWanted = archived
          ? archived.accepts(frame, frames.index - 1)
          : (accept?.(frame.bus, sourceOfId(frame.id), frame.pgn) ?? true);
        if (!isWanted) continue;
        budget.frames--;
        budget.bytes -= frame.length;
        onFrame(frame);
      }
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      this.#report({ fromSeq: this.#next, toSeq: Math.min(block.endSeq, budget.stopSeq) - 1 });
      this.#next = Math.min(block.endSeq, budget.stopSeq);
      this.#block = undefined;
    }
  }

  #closeArchive(): void {
    const blocks = this.#blocks;
    this.#blocks = undefined;
    this.#block = undefined;
    // A pending read ends first. Nobody handles an error in closing.
    blocks?.return(undefined).catch(() => {});
  }

  /** Closes the files first: backfill may take long. */
  #waitForBackfill(): Promise<void> {
    this.#closeArchive();
    return this.#waitForFrames();
  }

  /** Resolves when frames have arrived or the cursor is closed. */
  #waitForFrames(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#source.onFrames(() => done());
      const done = () => {
        cancel();
        this.#wake = undefined;
        resolve();
      };
      this.#wake = done;
    });
  }
}
