import { basename } from "node:path";
import { errorText } from "@vessel/gateway/base";
import { newStoredFrame, type StoredFrame } from "@vessel/gateway/frame";
import { BlockReader, type Gap, SourceUnavailableError } from "@vessel/gateway/journal";
import type { Part, Parts } from "./parts.ts";

/** Location of a block, and its first number. */
type Block = Omit<Part, "epochWord" | "timeUs">;

/** Iterates over the frames of one part. */
interface Cursor {
  frame: StoredFrame;
  /** Advances to the next frame; false at the end. */
  next(): boolean;
}

/**
 * All frames of one epoch in the order of their numbers, for any order and overlap of the blocks that
 * hold them. Keeps only the blocks in memory whose numbers include the current one.
 */
export class MergedFrames implements Disposable {
  /** Gaps that the blocks declare before themselves. */
  readonly gaps: { start: number; end: number }[] = [];
  /** Messages about what could not be read. */
  readonly damage: string[] = [];
  /** The whole epoch in hexadecimal, once a block has named it. */
  epoch: string | undefined;
  readonly #parts: readonly Block[];
  readonly #reader: BlockReader;
  #at = 0;
  #open: Cursor[] = [];
  #seq = Infinity;

  /** @param parts sorted by their first numbers */
  constructor(parts: readonly Block[], { open }: Pick<Parts, "open"> = {}) {
    this.#parts = parts;
    this.#reader = new BlockReader(open);
  }

  /** The current number; Infinity at the end. Valid only if {@linkcode MergedFrames.needsBlocks} is false. */
  get seq(): number {
    return this.#seq;
  }

  /** Whether {@linkcode MergedFrames.load} must be called before the current number is valid. */
  get needsBlocks(): boolean {
    const next = this.#parts[this.#at];
    return next !== undefined && next.seq <= this.#seq;
  }

  /** The frame of the current number. */
  get frame(): StoredFrame | undefined {
    return this.#open.find(({ frame }) => frame.seq === this.#seq)?.frame;
  }

  /** Whether two parts hold different frames with the current number. */
  get isContradicted(): boolean {
    const [first, ...others] = this.#open.filter(({ frame }) => frame.seq === this.#seq);
    return first !== undefined && others.some(({ frame }) => !isSame(frame, first.frame));
  }

  /** Reads the blocks that may hold the current number. */
  async load(): Promise<void> {
    while (this.needsBlocks) {
      const part = this.#parts[this.#at++];
      if (part === undefined) return;
      const cursor = await this.#openPart(part);
      if (!cursor?.next()) continue;
      this.#open.push(cursor);
      this.#seq = Math.min(this.#seq, cursor.frame.seq);
    }
  }

  /** Advances to the next number in memory. */
  step(): void {
    const seq = this.#seq;
    let next = Infinity;
    let hasEnded = false;
    for (const cursor of this.#open) {
      if (cursor.frame.seq === seq && !cursor.next()) {
        cursor.frame.seq = Infinity;
        hasEnded = true;
      }
      if (cursor.frame.seq < next) next = cursor.frame.seq;
    }
    if (hasEnded) this.#open = this.#open.filter(({ frame }) => frame.seq !== Infinity);
    this.#seq = next;
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  async #openPart(part: Block): Promise<Cursor | undefined> {
    const where = `${basename(part.path)}, byte ${part.offset}`;
    try {
      const block = await this.#reader.read(part.path, part);
      if (block.baseSeq !== part.seq) throw new TypeError("its header has another number");
      this.epoch ??= block.metadata.epoch?.toHex();
      this.#noteGap(block.metadata.gap, part.seq);
      const frame = newStoredFrame();
      const frames = block.frames();
      const next = () => {
        try {
          return frames.next(frame);
        } catch (error) {
          this.damage.push(`${where}: ${errorText(error)}`);
          return false;
        }
      };
      return { frame, next };
    } catch (error) {
      // Of a store that does not answer nothing is known.
      if (error instanceof SourceUnavailableError) throw error;
      this.damage.push(`${where}: ${errorText(error)}`);
      return undefined;
    }
  }

  #noteGap(gap: Gap | undefined, end: number): void {
    if (gap && gap.firstMissing < end) this.gaps.push({ start: gap.firstMissing, end });
  }
}

/** Whether two frames are identical byte for byte, bus and time included. */
export function isSame(one: StoredFrame, other: StoredFrame): boolean {
  if (one.timeUs !== other.timeUs || one.id !== other.id || one.bus !== other.bus || one.length !== other.length) {
    return false;
  }
  for (let i = 0; i < one.length; i++) {
    if (one.data[one.offset + i] !== other.data[other.offset + i]) return false;
  }
  return true;
}
