import { CAN_ID_MASK, newStoredFrame, pgnOfId, type StoredFrame, unpackBus } from "../../frame/mod.ts";
import {
  BASE_SEQ_AT,
  CRC_FROM_END,
  EIGHT_BYTES_FLAG,
  type FormatVersion,
  FRAME_COUNT_FROM_END,
  framesStart,
  MAX_VARINT_BYTES,
  MIN_FRAME_BYTES,
  TABLE_BYTES_FROM_END,
  TRAILER_BYTES,
} from "./layout.ts";
import { type ClockSpan, trueTimeOf } from "../clock/clock_spans.ts";
import { crc32c } from "./crc32c.ts";
import { checkEntries, readTable } from "./device_table.ts";
import { BlockError } from "../errors.ts";
import type { BlockDevice, BlockMetadata } from "../types.ts";

/** The frame region of a block. */
interface FrameRegion {
  bytes: Uint8Array;
  start: number;
  end: number;
  count: number;
  baseTimeUs: number;
  baseSeq: number | undefined;
  /** Undefined: times are as recorded. */
  clocks?: readonly ClockSpan[];
}

/** The device table of a block: its bytes, and the offset after its counted entries. */
interface TableRegion {
  bytes: Uint8Array;
  entriesEnd: number;
}

/** Iterates over the frames of a block. */
export class BlockCursor {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #end: number;
  readonly #count: number;
  /** Sequence number of frame 0; without sequence numbers both this and the step are 0. */
  readonly #baseSeq: number;
  readonly #seqStep: number;
  readonly #clocks: readonly ClockSpan[];
  /** Of the correction for the newest frame, or the next one. */
  #clockAt = 0;
  #at: number;
  #index = 0;
  #timeUs: number;
  /** Offset after the most recently read varint. */
  #varintEnd = 0;

  /** @ignore */
  constructor({ bytes, start, end, count, baseTimeUs, baseSeq, clocks = [] }: FrameRegion) {
    this.#clocks = clocks;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#at = start;
    this.#end = end;
    this.#count = count;
    this.#timeUs = baseTimeUs;
    this.#baseSeq = baseSeq ?? 0;
    this.#seqStep = baseSeq === undefined ? 0 : 1;
  }

  /** Index of the next frame in the block. */
  get index(): number {
    return this.#index;
  }

  /**
   * Reads the next frame; false at the end. `into.data` is the whole block, and `seq` is 0 without sequence numbers.
   *
   * @throws {BlockError} this frame, and hence every later one, cannot be read
   */
  next(into: StoredFrame): boolean {
    const index = this.#index;
    if (index >= this.#count) return false;
    const view = this.#view;
    let at = this.#at;
    if (at + MIN_FRAME_BYTES > this.#end) this.#fail("leaves the region of frames");
    let delta = view.getUint8(at++);
    if (delta >= 0x80) {
      delta = this.#delta(at - 1);
      at = this.#varintEnd;
    }
    if (at + 4 > this.#end) this.#fail("leaves the region of frames");
    const stored = view.getUint32(at, true);
    at += 4;
    let length = 8;
    if (stored < EIGHT_BYTES_FLAG) {
      length = this.#varint(at);
      at = this.#varintEnd;
    }
    if (length > this.#end - at) this.#fail("leaves the region of frames");
    // The first frame has the block's base time; its difference is ignored.
    if (index > 0) {
      this.#timeUs += delta;
      if (!Number.isSafeInteger(this.#timeUs)) {
        throw new BlockError("time", `The time of frame ${index} is out of range`);
      }
    }
    into.seq = this.#baseSeq + index * this.#seqStep;
    into.timeUs = this.#clocks.length === 0 ? this.#timeUs : this.#correctedUs(into.seq);
    into.id = stored & CAN_ID_MASK;
    into.pgn = pgnOfId(stored & CAN_ID_MASK);
    into.bus = unpackBus(stored);
    into.data = this.#bytes;
    into.offset = at;
    into.length = length;
    this.#at = at + length;
    this.#index = index + 1;
    return true;
  }

  #correctedUs(seq: number): number {
    while ((this.#clocks[this.#clockAt + 1]?.firstSeq ?? Infinity) <= seq) this.#clockAt++;
    return correctedTime(this.#timeUs, { seq, clock: this.#clocks[this.#clockAt] });
  }

  /** Reads a time difference. A varint of ten bytes is the two's complement of a negative number. */
  #delta(start: number): number {
    const value = this.#varint(start);
    if (this.#varintEnd - start < MAX_VARINT_BYTES) return value;
    let rest = 0;
    for (let i = MAX_VARINT_BYTES - 2; i >= 0; i--) rest = rest * 0x80 + (~this.#view.getUint8(start + i) & 0x7f);
    const top = this.#view.getUint8(start + MAX_VARINT_BYTES - 1);
    return top === 0 ? value : top === 1 ? -rest - 1 : Infinity;
  }

  /** Reads a varint. Above 2^53 the result is inexact, which suffices to reject it. */
  #varint(start: number): number {
    const last = Math.min(this.#end, start + MAX_VARINT_BYTES);
    let value = 0;
    let unit = 1;
    for (let at = start; at < last; at++, unit *= 0x80) {
      const byte = this.#view.getUint8(at);
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) {
        this.#varintEnd = at + 1;
        return value;
      }
    }
    return this.#fail("has a number that does not end");
  }

  #fail(why: string): never {
    throw new BlockError("frame", `Frame ${this.#index} of ${this.#count} ${why}`);
  }
}

/** A block whose checksum is valid. Frames and devices are parsed on demand. */
export class Block {
  /** Time of the first frame, microseconds since 1970; in a slice that of the whole block. */
  readonly baseTimeUs: number;
  /** Sequence number of the first frame; undefined in version 1. */
  readonly baseSeq: number | undefined;
  /** Number of frames. */
  readonly frameCount: number;
  readonly #region: FrameRegion;
  readonly #table: TableRegion;
  /** Frames of the block before this slice. */
  readonly #skipped: number;
  #parsed: ReturnType<typeof readTable> | undefined;

  /** @ignore */
  constructor(region: FrameRegion, table: TableRegion, { skipped = 0 } = {}) {
    const { baseTimeUs, baseSeq = 0, clocks: [clock] = [] } = region;
    this.baseTimeUs = correctedTime(baseTimeUs, { seq: baseSeq, clock });
    this.baseSeq = region.baseSeq === undefined ? undefined : baseSeq + skipped;
    this.frameCount = region.count - skipped;
    this.#region = region;
    this.#table = table;
    this.#skipped = skipped;
  }

  /** The device table, in stored order. */
  get devices(): readonly BlockDevice[] {
    return (this.#parsed ??= readTable(this.#table.bytes, this.#table.entriesEnd)).devices;
  }

  /** Metadata of the block. */
  get metadata(): BlockMetadata {
    return (this.#parsed ??= readTable(this.#table.bytes, this.#table.entriesEnd)).metadata;
  }

  /** Creates a cursor before the first frame. */
  frames(): BlockCursor {
    const cursor = new BlockCursor(this.#region);
    const frame = newStoredFrame();
    while (cursor.index < this.#skipped && cursor.next(frame));
    return cursor;
  }

  /**
   * The frames from index `from` to `to`, without `to`. Devices, metadata, time and the indexes of cursors stay those of
   * the whole block.
   */
  slice(from: number, to: number): Block {
    const count = Math.min(this.#region.count, this.#skipped + to);
    return new Block({ ...this.#region, count }, this.#table, { skipped: this.#skipped + from });
  }

  /** What a recorded time is in the times of its frames, microseconds since 1970. */
  timeOf(recordedUs: number): number {
    const { baseSeq: seq = 0, clocks: [clock] = [] } = this.#region;
    return correctedTime(recordedUs, { seq, clock });
  }

  /**
   * The same frames with corrected times. The clocks of the metadata stay as recorded.
   *
   * @param clocks corrections of some of its frames, in the order of numbers
   */
  retimed(clocks: readonly ClockSpan[]): Block {
    if (clocks.length === 0) return this;
    return new Block({ ...this.#region, clocks }, this.#table, { skipped: this.#skipped });
  }

  /** Numbers of its frames, the last one exclusive; of a slice those of the whole block. */
  get seqs(): { firstSeq: number; endSeq: number } {
    const { baseSeq = NaN, count } = this.#region;
    return { firstSeq: baseSeq, endSeq: baseSeq + count };
  }

  /** The same frames with other sequence numbers, starting at `firstSeq`; their times must be as recorded. */
  renumbered(firstSeq: number): Block {
    return new Block({ ...this.#region, baseSeq: firstSeq - this.#skipped }, this.#table, { skipped: this.#skipped });
  }
}

/** The time of a frame, corrected if that is in the correction. */
function correctedTime(timeUs: number, { seq, clock }: { seq: number; clock: ClockSpan | undefined }): number {
  return clock && seq >= clock.firstSeq && seq <= (clock.lastSeq ?? Infinity) ? trueTimeOf(timeUs, clock) : timeUs;
}

/** Reads a block that is in no file yet. @throws {BlockError} as {@linkcode readBlock} */
export function readMemoryBlock(bytes: Uint8Array): Block {
  return readBlock(bytes, { version: 2, blockBytes: bytes.length });
}

/**
 * Checks a block and parses its header. The block refers to `bytes`, without a copy.
 *
 * @throws {BlockError} the block is damaged; an unreadable frame throws only when a cursor reaches it
 */
export function readBlock(
  bytes: Uint8Array,
  { version, blockBytes }: { version: FormatVersion; blockBytes: number },
): Block {
  if (bytes.length !== blockBytes) {
    throw new BlockError("size", `The block has ${bytes.length} bytes instead of ${blockBytes}`);
  }
  const start = framesStart(version);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (blockBytes < start + TRAILER_BYTES) throw new BlockError("size", `A block of ${blockBytes} bytes is too small`);
  const found = crc32c(bytes.subarray(0, blockBytes - CRC_FROM_END));
  if (found !== view.getUint32(blockBytes - CRC_FROM_END, true)) {
    throw new BlockError("checksum", "The block's checksum is wrong");
  }
  const tableEnd = blockBytes - TRAILER_BYTES;
  const end = tableEnd - view.getUint16(blockBytes - TABLE_BYTES_FROM_END, true);
  if (end < start) throw new BlockError("device-table", "The device table is larger than the block");
  const count = view.getUint32(blockBytes - FRAME_COUNT_FROM_END, true);
  if (count > (end - start) / MIN_FRAME_BYTES) {
    throw new BlockError("frame-count", `The block has no room for ${count} frames`);
  }
  const baseTimeUs = Number(view.getBigInt64(0, true));
  if (!Number.isSafeInteger(baseTimeUs)) throw new BlockError("time", "The time of the block is out of range");
  const baseSeq = version === 1 ? undefined : Number(view.getBigUint64(BASE_SEQ_AT, true));
  if (baseSeq !== undefined && !Number.isSafeInteger(baseSeq + count)) {
    throw new BlockError("sequence", "The block's sequence numbers are too large");
  }
  const table = bytes.subarray(end, tableEnd);
  const entriesEnd = checkEntries(table);
  return new Block({ bytes, start, end, count, baseTimeUs, baseSeq }, { bytes: table, entriesEnd });
}
