import type { Block } from "../block/block.ts";
import { MAX_DISORDER_US } from "../block/layout.ts";
import { type IndexedBlock, storedBytes } from "./file_index.ts";

/** What an index knows of a block without unpacking it. */
export interface BlockLocation {
  /** Offset of its header. */
  offset: number;
  /** Bytes from there on; 0 where its header has to tell. */
  bytes: number;
  /** Time of its first frame. */
  timeUs: number;
  /** Number of its first frame; NaN in version 1. */
  seq: number;
  /** Most frames in it, by the number of the block after it in its file; Infinity or NaN where that does not tell. */
  mostFrames?: number;
  /** See {@linkcode IndexedBlock.unsealed}. */
  unsealed?: Uint8Array<ArrayBuffer> | undefined;
}

/** Which blocks are wanted; bounds are inclusive. */
export interface BlockRange {
  /** Times of frames, microseconds since 1970. */
  fromUs?: number | undefined;
  toUs?: number | undefined;
  /** First sequence number. */
  fromSeq?: number | undefined;
  /** Only blocks of this epoch, given by its first four bytes. */
  epochWord?: number | undefined;
  /** Blocks up to this frame are passed over where that needs no reading; others may be. */
  after?: { epochWord: number; seq: number } | undefined;
}

/** Latest time at which a block begins, and highest number, that a file's last blocks may have. */
export interface TableEnd {
  timeUs: number;
  seq: number;
}

const FIRST_ROOM = 64;

/** The blocks of one file in the order in which they lie there; 40 bytes a block. */
export class BlockTable {
  #offsets = new Float64Array(FIRST_ROOM);
  #bytes = new Float64Array(FIRST_ROOM);
  #times = new Float64Array(FIRST_ROOM);
  #seqs = new Float64Array(FIRST_ROOM);
  /** Latest time of a frame where the writer told it; NaN where nobody has looked. */
  #ends = new Float64Array(FIRST_ROOM);
  #count = 0;
  #minTimeUs = Infinity;
  #minSeq = Infinity;
  #isAscending = true;

  /** Blocks in the table. */
  get count(): number {
    return this.#count;
  }

  /** Earliest time that a block begins with. */
  get minTimeUs(): number {
    return this.#minTimeUs;
  }

  /** Smallest number that a block begins with. */
  get minSeq(): number {
    return this.#minSeq;
  }

  /** True while no block begins so much before the one before it that the clock must have been set. */
  get isAscending(): boolean {
    return this.#isAscending;
  }

  /** Notes a block that was found in the file. */
  addFound(block: IndexedBlock): void {
    const { baseTimeUs, baseSeq } = block.header;
    this.#add({ offset: block.offset, bytes: storedBytes(block.header), timeUs: baseTimeUs, seq: baseSeq ?? NaN }, NaN);
  }

  /** Notes a block that was written just now; one that is in the table already is passed over. */
  addWritten({ offset, firstTimeUs, firstSeq, latestTimeUs }: {
    offset: number;
    firstTimeUs: number;
    firstSeq: number;
    latestTimeUs: number;
  }): void {
    if (this.#count > 0 && offset <= (this.#offsets[this.#count - 1] ?? 0)) return;
    this.#add({ offset, bytes: 0, timeUs: firstTimeUs, seq: firstSeq }, latestTimeUs);
  }

  /** The blocks that may hold wanted frames. */
  *select(range: BlockRange, end: TableEnd): Generator<BlockLocation> {
    const { fromSeq } = range;
    const { fromUs, toUs } = beginsWithin(range);
    for (let i = 0; i < this.#count; i++) {
      const timeUs = at(this.#times, i);
      const seq = at(this.#seqs, i);
      if (timeUs > toUs || this.#endTimeOf(i, end.timeUs) < fromUs) continue;
      if (fromSeq !== undefined && !(this.#endSeqOf(i, end.seq) >= fromSeq)) continue;
      const mostFrames = this.#endSeqOf(i, Infinity) - seq + 1;
      yield { offset: at(this.#offsets, i), bytes: at(this.#bytes, i), timeUs, seq, mostFrames };
    }
  }

  #add({ offset, bytes, timeUs, seq }: BlockLocation, endUs: number): void {
    if (this.#count === this.#offsets.length) this.#grow();
    const i = this.#count++;
    this.#isAscending &&= i === 0 || ascends(at(this.#times, i - 1), timeUs);
    this.#offsets[i] = offset;
    this.#bytes[i] = bytes;
    this.#times[i] = timeUs;
    this.#seqs[i] = seq;
    this.#ends[i] = endUs;
    this.#minTimeUs = Math.min(this.#minTimeUs, timeUs);
    if (seq < this.#minSeq) this.#minSeq = seq;
  }

  /**
   * Latest time in a block, but for the disorder of frames: headers tell only when blocks begin, and a clock that stepped
   * back by less than a block's length does not show there. So a block may last until the one after the next begins.
   */
  #endTimeOf(i: number, endUs: number): number {
    const known = at(this.#ends, i);
    if (!Number.isNaN(known)) return known;
    if (i + 2 >= this.#count) return endUs;
    const [first, second, third] = [at(this.#times, i), at(this.#times, i + 1), at(this.#times, i + 2)];
    return ascends(first, second) && ascends(second, third) ? Math.max(second, third) : Infinity;
  }

  /** Highest number in a block; NaN where blocks have none. */
  #endSeqOf(i: number, endSeq: number): number {
    const seq = at(this.#seqs, i);
    if (Number.isNaN(seq) || i + 1 >= this.#count) return Number.isNaN(seq) ? NaN : endSeq;
    const next = at(this.#seqs, i + 1);
    return next > seq ? next - 1 : Infinity;
  }

  #grow(): void {
    this.#offsets = twice(this.#offsets);
    this.#bytes = twice(this.#bytes);
    this.#times = twice(this.#times);
    this.#seqs = twice(this.#seqs);
    this.#ends = twice(this.#ends);
  }
}

function at(list: Float64Array, i: number): number {
  return list[i] ?? NaN;
}

function twice(list: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(list.length * 2);
  longer.set(list);
  return longer;
}

/** Whether a block that begins at `nextUs` may follow one that begins at `timeUs` while the clock is not set. */
export function ascends(timeUs: number, nextUs: number): boolean {
  return nextUs >= timeUs - MAX_DISORDER_US;
}

/**
 * Times between which blocks begin, by the times of their neighbours, that may hold frames of a range: a frame's time may
 * lie before that of its block, and after that of the next one.
 */
export function beginsWithin({ fromUs = -Infinity, toUs = Infinity }: BlockRange): { fromUs: number; toUs: number } {
  return { fromUs: fromUs - MAX_DISORDER_US, toUs: toUs + MAX_DISORDER_US };
}

/** The last word on whether a block is wanted: what its own, checked bytes say. */
export function isWanted(block: Block, { epochWord, range }: { epochWord: number; range: BlockRange }): boolean {
  const { fromSeq } = range;
  if (range.epochWord !== undefined && range.epochWord !== epochWord) return false;
  if (fromSeq !== undefined && !((block.baseSeq ?? NaN) + block.frameCount > fromSeq)) return false;
  return block.baseTimeUs <= beginsWithin(range).toUs;
}
