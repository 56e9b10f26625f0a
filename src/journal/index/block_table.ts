import type { Block } from "../block/block.ts";
import { MAX_DISORDER_US } from "../block/layout.ts";
import type { BlockLocation } from "../file/source.ts";
import type { WrittenBlock } from "../writer/journal_writer_types.ts";
import { type IndexedBlock, type SeenRange, storedBytes } from "./file_index.ts";

/** Selects blocks; bounds are inclusive. */
export interface BlockRange {
  /** Times of frames, microseconds since 1970. */
  fromUs?: number | undefined;
  toUs?: number | undefined;
  /** True: frames have corrected times; default: as recorded. Bounds are corrected times in any case. */
  isCorrected?: boolean | undefined;
  /** First sequence number. */
  fromSeq?: number | undefined;
  /** Only blocks of this epoch, given by its first four bytes. */
  epochWord?: number | undefined;
  /** Resume point: blocks up to this frame are omitted if that is known without reading them. */
  after?: { epochWord: number; seq: number } | undefined;
  /** Files that are left out unread, given by their paths. */
  skipsFile?: ((path: string) => boolean) | undefined;
  /** Blocks that are left out unread, given by file and offset. */
  skips?: ((path: string, offset: number) => boolean) | undefined;
  /** Frames that are left out: the reader has them already. */
  seen?: readonly SeenRange[] | undefined;
}

/** Gives the corrected time of a frame, microseconds since 1970. */
export type CorrectTime = (seq: number, timeUs: number) => number;

/** Upper bounds for the last blocks of a file: start time of a block, and sequence number. */
export interface TableEnd {
  timeUs: number;
  seq: number;
}

const INITIAL_CAPACITY = 64;

/** The blocks of one file, in file order; 40 bytes per block. */
export class BlockTable {
  #offsets = new Float64Array(INITIAL_CAPACITY);
  #bytes = new Float64Array(INITIAL_CAPACITY);
  #times = new Float64Array(INITIAL_CAPACITY);
  #seqs = new Float64Array(INITIAL_CAPACITY);
  /** Latest time of a frame if the writer reported it, else NaN. */
  #ends = new Float64Array(INITIAL_CAPACITY);
  #count = 0;
  #minTimeUs = Infinity;
  #minSeq = Infinity;
  #isAscending = true;
  readonly #correct: CorrectTime;

  /** @param correct gives the corrected time of a frame; default: times are right */
  constructor(correct: CorrectTime = (_seq, timeUs) => timeUs) {
    this.#correct = correct;
  }

  /** Number of blocks. */
  get count(): number {
    return this.#count;
  }

  /** Earliest start time of a block. */
  get minTimeUs(): number {
    return this.#minTimeUs;
  }

  /** Lowest first number of a block. */
  get minSeq(): number {
    return this.#minSeq;
  }

  /** False if the start times of two consecutive blocks show that the clock was set back. */
  get isAscending(): boolean {
    return this.#isAscending;
  }

  /** Adds a block that was found in the file. */
  addFound(block: IndexedBlock): void {
    const { baseTimeUs, baseSeq } = block.header;
    this.#add({ offset: block.offset, bytes: storedBytes(block.header), timeUs: baseTimeUs, seq: baseSeq ?? NaN }, NaN);
  }

  /** Adds a block whose location is known. */
  add(block: BlockLocation): void {
    this.#add(block, NaN);
  }

  /** Adds a block that was written; ignores one that is in the table already. */
  addWritten({ offset, firstTimeUs, firstSeq, latestTimeUs }: WrittenBlock): void {
    if (this.#count > 0 && offset <= (this.#offsets[this.#count - 1] ?? 0)) return;
    this.#add({ offset, bytes: 0, timeUs: firstTimeUs, seq: firstSeq }, latestTimeUs);
  }

  /** Blocks that may hold wanted frames. */
  *select(range: BlockRange, end: TableEnd): Generator<BlockLocation> {
    const { fromSeq } = range;
    const { fromUs, toUs } = startsWithin(range);
    for (let i = 0; i < this.#count; i++) {
      const timeUs = at(this.#times, i);
      const seq = at(this.#seqs, i);
      if (timeUs > toUs || this.#endTimeOf(i, end.timeUs) < fromUs) continue;
      if (fromSeq !== undefined && !(this.#endSeqOf(i, end.seq) >= fromSeq)) continue;
      const mostFrames = this.#endSeqOf(i, Infinity) - seq + 1;
      yield { offset: at(this.#offsets, i), bytes: at(this.#bytes, i), timeUs, seq, mostFrames };
    }
  }

  #add({ offset, bytes, timeUs: recordedUs, seq }: BlockLocation, recordedEndUs: number): void {
    const timeUs = this.#correct(seq, recordedUs);
    const endUs = this.#correct(seq, recordedEndUs);
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
   * Latest time in a block, apart from the disorder of frames. Headers contain only start times, which do not show a step
   * back by less than a block's duration. So a block may last until the start of the next but one.
   */
  #endTimeOf(i: number, endUs: number): number {
    const known = at(this.#ends, i);
    if (!Number.isNaN(known)) return known;
    if (i + 2 >= this.#count) return endUs;
    const [first, second, third] = [at(this.#times, i), at(this.#times, i + 1), at(this.#times, i + 2)];
    return ascends(first, second) && ascends(second, third) ? Math.max(second, third) : Infinity;
  }

  /** Highest number in a block; NaN if blocks have none. */
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

/** True if a block that starts at `nextUs` may follow one that starts at `timeUs` without a change of the clock. */
function ascends(timeUs: number, nextUs: number): boolean {
  return nextUs >= timeUs - MAX_DISORDER_US;
}

/**
 * Range of start times of the blocks that may hold frames of a range: a frame may be earlier than the start of its block,
 * and later than the start of the next one.
 */
export function startsWithin({ fromUs = -Infinity, toUs = Infinity }: BlockRange): { fromUs: number; toUs: number } {
  return { fromUs: fromUs - MAX_DISORDER_US, toUs: toUs + MAX_DISORDER_US };
}

/** True if a block that was read may hold wanted frames. Other than headers, its content is checked. */
export function isWanted(block: Block, { epochWord, range }: { epochWord: number; range: BlockRange }): boolean {
  const { fromSeq } = range;
  if (range.epochWord !== undefined && range.epochWord !== epochWord) return false;
  if (fromSeq !== undefined && !((block.baseSeq ?? NaN) + block.frameCount > fromSeq)) return false;
  return block.baseTimeUs <= startsWithin(range).toUs;
}
