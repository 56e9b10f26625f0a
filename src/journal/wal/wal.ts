/**
 * The WAL: the frames of the block that is being filled, on disk already. Pure; `wal_files.ts` does the writing.
 *
 *   header:  "LPJT" | version u8 | 3 zeros | block bytes u32 | epoch 16 bytes | first sequence number u64 | CRC-32C u32
 *   record:  bytes of the body u16 | CRC-32C of the body, seeded with the header's u32 | body
 *   body:    kind u8 | 1: opening of the block, JSON | 2: microseconds since 1970 f64, identifier u32, payload
 *            | 3: counters after the frames before it, as tag 11 of block metadata
 *
 * The CRC of a record begins with the header's, so that leftovers of an earlier WAL in the file fail the check.
 * Frame `i` has the sequence number `first + i`.
 */
import { decodeEnd, encodeEnd } from "../block/counts.ts";
import { crc32c } from "../block/crc32c.ts";
import { isBlockSize } from "../block/layout.ts";
import { type BlockEnd, MAX_BLOCK_BYTES } from "../types.ts";
import { CAN_ID_MASK, type Message, packBus, pgnOfId, unpackBus } from "../../frame/mod.ts";

const MAGIC = [0x4c, 0x50, 0x4a, 0x54];
const VERSION = 1;
/** Bytes of the header. */
export const WAL_HEADER_BYTES = 40;
const CRC_AT = 36;
const RECORD_HEAD_BYTES = 6;
const FRAME_HEAD_BYTES = 13;
const OPENING = 1;
const FRAME = 2;
const COUNTERS = 3;
/** Longest body that the length field can hold. */
const MAX_BODY_BYTES = 0xffff;

/**
 * Upper bound for the WAL of a block: the shortest frame takes 6 bytes in the block, 19 in the WAL. The counters take at most
 * as much as the frames.
 */
export function maxWalBytes(blockBytes: number): number {
  return WAL_HEADER_BYTES + RECORD_HEAD_BYTES + MAX_BODY_BYTES + 8 * blockBytes;
}

/** Header of a WAL. */
export interface WalHeader {
  /** Bytes of the block, unpacked. */
  blockBytes: number;
  /** Epoch of the frames. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Number of the first frame. */
  firstSeq: number;
}

/** Encodes the header of a WAL. */
function walHeader({ blockBytes, epoch, firstSeq }: WalHeader): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(WAL_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  bytes[4] = VERSION;
  view.setUint32(8, blockBytes, true);
  bytes.set(epoch.subarray(0, 16), 12);
  view.setBigUint64(28, BigInt(firstSeq), true);
  view.setUint32(CRC_AT, crc32c(bytes.subarray(0, CRC_AT)), true);
  return bytes;
}

/** All bytes of one WAL, kept until the next one begins: after a write error they are written again. */
export class WalBuffer {
  #bytes = new Uint8Array(16_384);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  #seed = 0;
  /** Length after the newest counters. */
  #countersAt = 0;

  /** Begins a WAL: the CRCs of the following records are seeded with its header's. */
  begin(header: WalHeader): void {
    const bytes = walHeader(header);
    this.#length = 0;
    this.#reserve(bytes.length);
    this.#bytes.set(bytes);
    this.#length = bytes.length;
    this.#countersAt = bytes.length;
    this.#seed = this.#view.getUint32(CRC_AT, true);
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds the opening. One that is too long for a record is omitted; recovery works without it. */
  addOpening(opening: unknown): void {
    const text = new TextEncoder().encode(JSON.stringify(opening));
    if (text.length + 1 > MAX_BODY_BYTES) return;
    const at = this.#begin(OPENING, text.length);
    this.#bytes.set(text, at);
    this.#end(at, text.length);
    this.#countersAt = this.#length;
  }

  /** Adds a frame; its sequence number follows from its position. */
  addFrame({ id, bus, timeUs, data, offset, length }: Message): void {
    const at = this.#begin(FRAME, FRAME_HEAD_BYTES - 1 + length);
    this.#view.setFloat64(at, timeUs, true);
    this.#view.setUint32(at + 8, packBus(id, bus), true);
    this.#bytes.set(data.subarray(offset, offset + length), at + FRAME_HEAD_BYTES - 1);
    this.#end(at, FRAME_HEAD_BYTES - 1 + length);
  }

  /** Adds counters, unless they are longer than the frames since the last ones. */
  addCounters(end: BlockEnd): void {
    const body = encodeEnd(end);
    if (this.#length - this.#countersAt < RECORD_HEAD_BYTES + 1 + body.length) return;
    const at = this.#begin(COUNTERS, body.length);
    this.#bytes.set(body, at);
    this.#end(at, body.length);
    this.#countersAt = this.#length;
  }

  /** A copy of the bytes from an offset on. */
  from(offset: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(offset, this.#length);
  }

  /** Reserves space for a record; returns the offset after its kind. */
  #begin(kind: number, bytes: number): number {
    this.#reserve(RECORD_HEAD_BYTES + 1 + bytes);
    const at = this.#length + RECORD_HEAD_BYTES;
    this.#bytes[at] = kind;
    return at + 1;
  }

  #end(at: number, bytes: number): void {
    const body = this.#bytes.subarray(at - 1, at + bytes);
    this.#view.setUint16(this.#length, body.length, true);
    this.#view.setUint32(this.#length + 2, crc32c(body, this.#seed), true);
    this.#length = at + bytes;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + bytes));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** Content of a WAL file. */
export interface Wal extends WalHeader {
  /** Opening of the block; undefined if it was not written. */
  opening: unknown;
  /** Its frames, in order; the first has the number `firstSeq`. */
  frames: Message[];
  /** Bytes after the last complete record. */
  torn: number;
  /** Counters after some of the frames; undefined if there are none. */
  counters: BlockEnd | undefined;
}

function readHeader(bytes: Uint8Array): (WalHeader & { seed: number }) | undefined {
  if (bytes.length < WAL_HEADER_BYTES || !MAGIC.every((byte, at) => bytes[at] === byte)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const seed = view.getUint32(CRC_AT, true);
  if (bytes[4] !== VERSION || crc32c(bytes.subarray(0, CRC_AT)) !== seed) return undefined;
  const firstSeq = Number(view.getBigUint64(28, true));
  const blockBytes = view.getUint32(8, true);
  if (!isBlockSize(blockBytes) || !Number.isSafeInteger(firstSeq + MAX_BLOCK_BYTES)) return undefined;
  return { blockBytes, epoch: bytes.slice(12, 28), firstSeq, seed };
}

function readFrame(body: Uint8Array): Message | undefined {
  if (body.length < FRAME_HEAD_BYTES) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const stored = view.getUint32(9, true);
  const id = stored & CAN_ID_MASK;
  const timeUs = view.getFloat64(1, true);
  if (!Number.isSafeInteger(timeUs)) return undefined;
  const data = body.slice(FRAME_HEAD_BYTES);
  return {
    bus: unpackBus(stored),
    pgn: pgnOfId(id),
    id,
    timeUs,
    monoMs: 0,
    data,
    offset: 0,
    length: data.length,
  };
}

function parseOpening(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body.subarray(1)));
  } catch {
    return undefined;
  }
}

/** Reads a WAL up to its last complete record; undefined if the header is invalid. */
export function readWal(bytes: Uint8Array): Wal | undefined {
  const header = readHeader(bytes);
  if (header === undefined) return undefined;
  const { seed, ...rest } = header;
  const wal: Wal = { ...rest, opening: undefined, frames: [], torn: 0, counters: undefined };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = WAL_HEADER_BYTES;
  while (at + RECORD_HEAD_BYTES < bytes.length) {
    const size = view.getUint16(at, true);
    const end = at + RECORD_HEAD_BYTES + size;
    if (size === 0 || end > bytes.length) break;
    const body = bytes.subarray(at + RECORD_HEAD_BYTES, end);
    if (crc32c(body, seed) !== view.getUint32(at + 2, true)) break;
    if (body[0] === FRAME) {
      const frame = readFrame(body);
      // Numbers follow from positions: after an invalid frame none is certain.
      if (frame === undefined) break;
      wal.frames.push(frame);
    }
    if (body[0] === COUNTERS) wal.counters = decodeEnd(body.subarray(1)) ?? wal.counters;
    if (body[0] === OPENING) wal.opening = parseOpening(body);
    at = end;
  }
  wal.torn = bytes.length - at;
  return wal;
}
