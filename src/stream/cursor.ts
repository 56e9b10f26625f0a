import { turn } from "../base/mod.ts";
import type { Accept } from "../broker/mod.ts";
import { newStoredFrame, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { type Block, type BlockCursor, BlockError, type Gap } from "../journal/mod.ts";
import type { AbsentFrames, FrameSource } from "./frame_source.ts";
import type { RecordedFilter } from "./recorded_filter.ts";

/** Frames that were there are kept no longer; `oldestSeq` is where reading can begin. */
export class FallenBehindError extends Error {
  override readonly name = "ErrFallenBehind";
  readonly oldestSeq: number;

  constructor(oldestSeq: number) {
    super(`The frames asked for are no longer kept: the oldest is ${oldestSeq}`);
    this.oldestSeq = oldestSeq;
  }
}

/** Frames that the archive should have and has not. */
export interface MissingFrames {
  fromSeq: number;
  toSeq: number;
  /** The archive does not say that it lacks them: a disk that fails for now looks the same. */
  mayBeThere?: boolean;
  /** They may come later; whoever reads on does not get them. */
  backfill?: boolean;
  /** Why they cannot be had, where that is known; `restart`: an unclean stop, and how many had a frame is not known. */
  reason?: string;
}

/** How frames are read. */
export interface CursorOptions {
  source: FrameSource;
  /** Number of the first frame wanted. */
  fromSeq: number;
  /** Default: every frame. */
  accept?: Accept;
  /** The same for frames of the archive; default `accept`. */
  archived?: RecordedFilter;
  /** Read nothing from the ring; for an archive that is complete. Default false. */
  archiveOnly?: boolean;
  /** Told of frames that the archive does not give: they never came there, are damaged, or cannot be read. */
  missing?: (frames: MissingFrames) => void;
  /** Told of numbers that an unclean stop took, and that the start after it skipped. */
  unclean?: (frames: MissingFrames) => void;
}

/** How much is read at once. */
export interface ReadLimits {
  maxFrames: number;
  /** Payload bytes after which no further frame is taken; default no limit. */
  maxBytes?: number;
}

/** Longest time that one slice of reading holds the event loop. */
const SLICE_MS = 4;
/** Frames between two looks at the time; a power of two. */
const LOOK_EVERY = 64;

/** A block that is being read. */
interface OpenBlock {
  frames: BlockCursor;
  /** Index of each of its buses in our list. */
  buses: readonly number[];
  endSeq: number;
}

/** What is left of what one read may take. */
interface Budget {
  frames: number;
  bytes: number;
  endMs: number;
  /** No frame with this number or a higher one is read: there are numbers without a frame before it. */
  stopSeq: number;
}

/**
 * Reads on from a number, at its reader's pace: from the archive, then from the ring, then as frames come, each once and
 * in order. Numbers that never had a frame are passed over. Where frames are awaited, reading waits; frames that come
 * after it has gone on without them are not given any more.
 */
export class FrameCursor {
  readonly #source: FrameSource;
  readonly #options: CursorOptions;
  readonly #frame = newStoredFrame();
  #next: number;
  #blocks: AsyncGenerator<Block> | undefined;
  #block: OpenBlock | undefined;
  /** Whether the archive has given anything since it was asked last. */
  #progress = false;
  /** Highest number that had left the ring then. */
  #goneWhenAsked = 0;
  /** Number at which the archive was asked again because it gave a later one. */
  #askedAgainAt = 0;
  /** Whether more can be read at once. */
  #isBehind = false;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(options: CursorOptions) {
    this.#source = options.source;
    this.#options = options;
    this.#next = options.fromSeq;
  }

  /** Number from which the next read goes on. */
  get nextSeq(): number {
    return this.#next;
  }

  /**
   * Waits for at least one wanted frame and gives what is there, in slices that leave time for others. The frame handed
   * over is the cursor's own: copy what must outlive the call.
   *
   * @returns how many were given; 0: the cursor is closed
   * @throws {FallenBehindError} frames that were there are gone
   */
  async read(take: (frame: StoredFrame) => void, { maxFrames, maxBytes = Infinity }: ReadLimits): Promise<number> {
    for (;;) {
      if (this.#isBehind) await turn();
      if (this.#closed) return 0;
      const absent = this.#source.absentFrom(this.#next);
      if (absent && absent.start <= this.#next) {
        if (absent.kind === "awaited") await this.#moreThanAwaited();
        else this.#passAbsent(absent);
        continue;
      }
      const endMs = performance.now() + SLICE_MS;
      const budget: Budget = { frames: maxFrames, bytes: maxBytes, endMs, stopSeq: absent?.start ?? Infinity };
      if (this.#isInRing()) this.#readRing(take, budget);
      else if (this.#next <= this.#source.head) await this.#readArchive(take, budget);
      if (this.#closed) return 0;
      this.#isBehind = this.#next <= this.#source.head;
      if (budget.frames < maxFrames) return maxFrames - budget.frames;
      if (!this.#isBehind) await this.#more();
    }
  }

  /** Ends a read that waits, and lets the archive go. */
  close(): void {
    this.#closed = true;
    this.#leaveArchive();
    this.#wake?.();
  }

  /** Goes on behind numbers that have no frame. */
  #passAbsent(absent: AbsentFrames): void {
    const frames = { fromSeq: this.#next, toSeq: absent.end - 1 };
    this.#next = absent.end;
    if (absent.kind === "late") this.#tell({ ...frames, backfill: true });
    else if (absent.kind === "lost") this.#tell({ ...frames, reason: absent.reason });
  }

  #isInRing(): boolean {
    return !this.#options.archiveOnly && this.#next > this.#source.broker.ring.goneThrough;
  }

  #readRing(take: (frame: StoredFrame) => void, budget: Budget): void {
    this.#leaveArchive();
    const { ring } = this.#source.broker;
    const { accept } = this.#options;
    const frame = this.#frame;
    const head = Math.min(ring.head, budget.stopSeq - 1);
    // Between what has gone and the oldest there are no frames.
    let seq = Math.max(this.#next, ring.oldest);
    for (let looked = 1; seq <= head && budget.frames > 0 && budget.bytes > 0; seq++, looked++) {
      if ((looked & (LOOK_EVERY - 1)) === 0 && performance.now() > budget.endMs) break;
      if (!ring.read(seq, frame) || (accept && !accept(frame.bus, sourceOfId(frame.id), frame.pgn))) continue;
      budget.frames--;
      budget.bytes -= frame.length;
      take(frame);
    }
    this.#next = Math.min(seq, budget.stopSeq);
  }

  async #readArchive(take: (frame: StoredFrame) => void, budget: Budget): Promise<void> {
    if (!this.#block && this.#source.isGone(this.#next)) throw new FallenBehindError(this.#source.oldestSeq);
    const block = this.#block ??= await this.#nextBlock(budget);
    if (this.#closed) return this.#leaveArchive();
    if (block) {
      // The time that the disk took is nobody's.
      budget.endMs = performance.now() + SLICE_MS;
      this.#readBlock(block, { take, budget });
    } else if (!this.#progress) {
      this.#passMissing(budget);
    }
  }

  /** The archive has nothing from here on. What had left the ring before it was asked, it never got: recording fails. */
  #passMissing({ stopSeq }: Budget): void {
    const { archive, broker: { ring: { base } } } = this.#source;
    const { uncleanRange: range } = archive ?? {};
    if (range) this.#tellUnclean({ fromSeq: Math.max(this.#next, range.from), toSeq: Math.min(base, range.to) });
    // Below the base are numbers that a start has skipped, unless the archive knows of those.
    const fromSeq = archive?.absentFrom ? this.#next : Math.max(this.#next, base + 1);
    const toSeq = Math.min(this.#goneWhenAsked, stopSeq - 1);
    this.#tell({ fromSeq, toSeq, mayBeThere: archive?.isTaking !== false });
    this.#next = Math.max(fromSeq, toSeq + 1);
  }

  /** The next block with something to read; undefined at the end, where `#progress` says whether to ask again. */
  async #nextBlock(budget: Budget): Promise<OpenBlock | undefined> {
    for (;;) {
      if (!this.#blocks) {
        this.#progress = false;
        this.#goneWhenAsked = this.#source.broker.ring.goneThrough;
        this.#blocks = this.#source.archive?.blocks({ fromSeq: this.#next });
      }
      const result = await this.#blocks?.next();
      // Frames may have come and gone missing meanwhile.
      budget.stopSeq = this.#source.absentFrom(this.#next)?.start ?? Infinity;
      if (!result || result.done) {
        this.#blocks = undefined;
        return undefined;
      }
      const { baseSeq, frameCount } = result.value;
      if (baseSeq === undefined || baseSeq + frameCount <= this.#next) continue;
      this.#progress = true;
      if (baseSeq > this.#next && this.#asksAgain()) continue;
      return this.#openBlock(result.value, Math.min(baseSeq, budget.stopSeq));
    }
  }

  /** Whether the archive is to be asked again for numbers that should be there: they may have come since it was. */
  #asksAgain(): boolean {
    if (!this.#source.archive?.absentFrom || this.#askedAgainAt === this.#next) return false;
    this.#askedAgainAt = this.#next;
    this.#leaveArchive();
    return !this.#closed;
  }

  /** @param readableFrom what is missing before this number is told */
  #openBlock(block: Block, readableFrom: number): OpenBlock {
    const { notes, devices } = block;
    const { archived } = this.#options;
    const ours = this.#source.broker.buses;
    const buses = (notes.buses ?? []).map((name, index) => ours.includes(name) ? ours.indexOf(name) : index);
    const holders = devices.map((device) => ({ ...device, bus: buses[device.bus] ?? device.bus }));
    archived?.enter(ours, holders);
    this.#tellBefore(readableFrom, notes.gap);
    return {
      frames: block.frames(),
      buses,
      endSeq: (block.baseSeq ?? 0) + block.frameCount,
    };
  }

  /** What is missing before a block. */
  #tellBefore(baseSeq: number, gap: Gap | undefined): void {
    const gapSeq = Math.min(baseSeq, Math.max(this.#next, gap?.firstMissing ?? baseSeq));
    // What no gap tells was there once.
    this.#tell({ fromSeq: this.#next, toSeq: gapSeq - 1, mayBeThere: true });
    const range = { fromSeq: gapSeq, toSeq: baseSeq - 1 };
    if (gap?.reason === "restart") this.#tellUnclean(range);
    else this.#tell(range);
  }

  #tellUnclean(range: MissingFrames): void {
    // An archive that knows more than its blocks may have them from elsewhere.
    if (!this.#source.archive?.absentFrom) this.#tell({ ...range, reason: "restart" });
  }

  #tell(frames: MissingFrames): void {
    const told = frames.reason === "restart" ? this.#options.unclean : this.#options.missing;
    if (frames.fromSeq <= frames.toSeq) told?.(frames);
  }

  #readBlock(block: OpenBlock, { take, budget }: { take: (frame: StoredFrame) => void; budget: Budget }): void {
    const { archived, accept } = this.#options;
    const frame = this.#frame;
    const { frames, buses } = block;
    try {
      for (let looked = 1; budget.frames > 0 && budget.bytes > 0; looked++) {
        if ((looked & (LOOK_EVERY - 1)) === 0 && performance.now() > budget.endMs) return;
        if (!frames.next(frame)) {
          this.#next = Math.max(this.#next, block.endSeq);
          this.#block = undefined;
          return;
        }
        if (frame.seq < this.#next) continue;
        if (frame.seq >= budget.stopSeq) {
          this.#next = budget.stopSeq;
          return this.#leaveArchive();
        }
        this.#next = frame.seq + 1;
        frame.bus = buses[frame.bus] ?? frame.bus;
        const isWanted = archived
          ? archived.accepts(frame, frames.index - 1)
          : (accept?.(frame.bus, sourceOfId(frame.id), frame.pgn) ?? true);
        if (!isWanted) continue;
        budget.frames--;
        budget.bytes -= frame.length;
        take(frame);
      }
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      this.#tell({ fromSeq: this.#next, toSeq: Math.min(block.endSeq, budget.stopSeq) - 1 });
      this.#next = Math.min(block.endSeq, budget.stopSeq);
      this.#block = undefined;
    }
  }

  #leaveArchive(): void {
    const blocks = this.#blocks;
    this.#blocks = undefined;
    this.#block = undefined;
    // A read under way ends first; whatever goes wrong in letting go has nobody to tell.
    blocks?.return(undefined).catch(() => {});
  }

  /** Awaited frames may take long: no file stays open for them. */
  #moreThanAwaited(): Promise<void> {
    this.#leaveArchive();
    return this.#more();
  }

  /** Resolves when frames have come, or the cursor is closed. */
  #more(): Promise<void> {
    return new Promise((resolve) => {
      const takeBack = this.#source.onFrames(() => done());
      const done = () => {
        takeBack();
        this.#wake = undefined;
        resolve();
      };
      this.#wake = done;
    });
  }
}
