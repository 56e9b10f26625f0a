// Layout of an uncompressed block, all numbers little-endian (format versions 1 and 2):
//
//   base time i64 | base sequence number u64 (version 2) | frames | zeros | device table | trailer
//
//   frame: microseconds since the previous frame, varint | identifier u32 | length varint, unless it is 8 | payload
//          (a negative difference is its two's complement in 64 bits: a varint of 10 bytes)
//   device table: count u16 | entries | block metadata (our extension)
//   trailer: bytes of the device table u16 | frames u32 | CRC-32C of everything before it u32

import { MAX_BLOCK_BYTES, MIN_BLOCK_BYTES } from "../types.ts";

/** Format of a journal file. New files have version 2; version 1 has no sequence numbers. */
export type FormatVersion = 1 | 2;

/** Offset of the base sequence number, version 2. */
export const BASE_SEQ_AT = 8;
/** Bytes of the trailer. */
export const TRAILER_BYTES = 10;
/** Offsets from the end of the block: bytes of the device table, frame count, checksum. */
export const TABLE_BYTES_FROM_END = 10;
export const FRAME_COUNT_FROM_END = 8;
export const CRC_FROM_END = 4;

/** Bit 31 of a stored identifier: the payload has 8 bytes, and its length is omitted. */
export const EIGHT_BYTES_FLAG = 0x80000000;

/**
 * Largest step back in time within a block. Times of several buses interleave, and frames may wait up to a minute in the
 * kernel; a larger step means that the clock was set.
 */
export const MAX_DISORDER_US = 60_000_000;

/** Longest varint: 64 bits, 7 in a byte. */
export const MAX_VARINT_BYTES = 10;
/** Bytes of the shortest frame: time difference, identifier, length 0. */
export const MIN_FRAME_BYTES = 6;

/** Largest size of a device table, bytes: the size field is a u16. */
export const MAX_TABLE_BYTES = 0xffff;
/** Bytes of a device entry with empty texts: source, NAME, active from, product code, four lengths. */
export const BARE_ENTRY_BYTES = 19;

/** Offset of the first frame of a block. */
export function framesStart(version: FormatVersion): number {
  return version === 1 ? 8 : 16;
}

/** True for a valid block size: a power of two from {@linkcode MIN_BLOCK_BYTES} to {@linkcode MAX_BLOCK_BYTES}. */
export function isBlockSize(bytes: number): boolean {
  return bytes >= MIN_BLOCK_BYTES && bytes <= MAX_BLOCK_BYTES && Number.isInteger(Math.log2(bytes));
}
