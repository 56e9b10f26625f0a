// Where things lie in a block, uncompressed, all numbers little-endian (format versions 1 and 2):
//
//   base time i64 | base sequence number u64 (version 2) | frames | zeros | device table | trailer
//
//   frame: microseconds since the frame before, varint | identifier u32 | length varint, unless it is 8 | payload
//          (a time before the last frame's is the two's complement in 64 bits: a varint of 10 bytes)
//   device table: count u16 | entries | notes (ours)
//   trailer: bytes of the device table u16 | frames u32 | CRC-32C of all before it u32

/** Format of a journal file; 2 is written, 1 has no sequence numbers. */
export type FormatVersion = 1 | 2;

/** Where the number of the first frame lies, version 2. */
export const BASE_SEQ_AT = 8;
/** Bytes of the trailer. */
export const TRAILER_BYTES = 10;
/** From the end of the block: bytes of the device table, count of frames, checksum. */
export const TABLE_BYTES_FROM_END = 10;
export const FRAME_COUNT_FROM_END = 8;
export const CRC_FROM_END = 4;

/** Bit 31 of a stored identifier: the payload has 8 bytes, and no length stands before it. */
export const EIGHT_BYTES_FLAG = 0x80000000;

/**
 * How far a frame's time may lie before the latest of its block. Times of several buses interleave, and frames may wait
 * up to a minute in the kernel; what lies farther back shows a clock that was set.
 */
export const MAX_DISORDER_US = 60_000_000;

/** Longest varint: 64 bits, 7 in a byte. */
export const MAX_VARINT_BYTES = 10;
/** Shortest frame: delta, identifier, length 0. */
export const MIN_FRAME_BYTES = 6;

/** Largest size of a device table, as its u16 says it. */
export const MAX_TABLE_BYTES = 0xffff;
/** Bytes of a device entry without its four texts' bytes: source, NAME, active from, product code, four lengths. */
export const BARE_ENTRY_BYTES = 19;

/** Where the frames of a block begin. */
export function framesStart(version: FormatVersion): number {
  return version === 1 ? 8 : 16;
}

/** True for sizes that a block may have: powers of two within bounds. */
export function isBlockSize(bytes: number, bounds: { min: number; max: number }): boolean {
  return bytes >= bounds.min && bytes <= bounds.max && Number.isInteger(Math.log2(bytes));
}
