import { MAX_MESSAGE_BYTES, type Message, nameFromBytes, packBus, sourceOfId } from "../../frame/mod.ts";
import {
  BARE_ENTRY_BYTES,
  BASE_SEQ_AT,
  CRC_FROM_END,
  EIGHT_BYTES_FLAG,
  FRAME_COUNT_FROM_END,
  framesStart,
  isBlockSize,
  MAX_DISORDER_US,
  MAX_TABLE_BYTES,
  MAX_VARINT_BYTES,
  TABLE_BYTES_FROM_END,
  TRAILER_BYTES,
} from "./layout.ts";
import { crc32c } from "./crc32c.ts";
import {
  type DeviceProduct,
  encodeEntries,
  encodeEntry,
  encodeTable,
  type Entry,
  ENTRY_BUS_BYTES,
  joinTable,
  NO_PRODUCT,
} from "./device_table.ts";
import { OversizedMessageError } from "../errors.ts";
import { endBytesOf } from "./counts.ts";
import { concat, encodeEndEntry, encodeMetadata, ENTRY_HEADER_BYTES } from "./metadata.ts";
import {
  type BlockDevice,
  type BlockEnd,
  type BlockMetadata,
  DEFAULT_BLOCK_BYTES,
  MAX_BLOCK_BYTES,
  MAX_BUSES,
  MIN_BLOCK_BYTES,
  type SealedBlock,
} from "../types.ts";

/** The parts of a message that a block stores. */
export type BlockFrame = Pick<Message, "id" | "bus" | "timeUs" | "data" | "offset" | "length">;

/**
 * `full`: no space is left. `break`: the number is not consecutive, or the time is more than a minute
 * ({@linkcode MAX_DISORDER_US}) before the latest of the block. In both cases the frame was not added: finish the block,
 * begin another, and append again.
 */
export type AppendResult = "added" | "full" | "break";

/** Settings of a {@linkcode BlockBuilder}. */
export interface BlockBuilderOptions {
  /** Size of the blocks, a power of two; default {@linkcode DEFAULT_BLOCK_BYTES}. */
  blockBytes?: number;
  /** Called when a block ends: returns the product information of the device that holds an address then. */
  productOf?: (bus: number, src: number) => DeviceProduct | undefined;
}

/** Bits of an identifier that identify PGN 60928, address claim. PGN 126464 differs only in the data page. */
const PGN_BITS = 0x3ff0000;
const CLAIM_BITS = 0xee0000;
/** Shortest address claim: a NAME. */
const CLAIM_BYTES = 8;
/** Texts of product information (PGN 126996) have 32 characters; in UTF-8 up to twice as many bytes. */
const MAX_CLAIM_TEXT_BYTES = 64;
/** Bytes reserved for the table entry of a claim: its product information is known only when the block ends. */
const CLAIM_ENTRY_BYTES = BARE_ENTRY_BYTES + 4 * MAX_CLAIM_TEXT_BYTES + ENTRY_BUS_BYTES;
/** Maximum bytes of a frame without its payload: time difference, identifier, length. */
const MAX_FRAME_HEADER_BYTES = MAX_VARINT_BYTES + 4 + 2;
/** Maximum size of the table at the start of a block; leaves space for claims. */
const MAX_FIRST_TABLE_BYTES = 49_152;
const VERSION = 2;
/** Memory of a new block, bytes; a power of two. */
const FIRST_BYTES = 16_384;

/** An address claim inside the block. */
type Claim = Pick<BlockDevice, "bus" | "src" | "name" | "activeFrom">;

/**
 * Builds blocks of version 2, one at a time. Its memory grows with the frames: in a cloud most blocks end early, because their
 * frames go to the object store. The numbers in a block are consecutive; times are
 * exact and may go back.
 */
export class BlockBuilder {
  /** Size of every block. */
  readonly blockBytes: number;
  readonly #productOf: (bus: number, src: number) => DeviceProduct | undefined;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Offset of the next frame. */
  #at = 0;
  /** Offset that no frame may exceed; negative while no block is open. */
  #limit = -1;
  #frames = 0;
  #firstSeq = 0;
  #lastSeq = 0;
  #firstTimeUs = 0;
  #lastTimeUs = 0;
  #latestTimeUs = 0;
  #devices: readonly BlockDevice[] = [];
  #entries: Entry[] = [];
  #metadata = new Uint8Array(0);
  /** Upper bound of the table's size, bytes. */
  #tableBytes = 0;
  #claims: Claim[] = [];

  /** Creates a builder without an open block. @throws {RangeError} `blockBytes` is not a valid block size */
  constructor(options: BlockBuilderOptions = {}) {
    const { blockBytes = DEFAULT_BLOCK_BYTES, productOf = () => undefined } = options;
    if (!isBlockSize(blockBytes)) {
      throw new RangeError(
        `Cannot make blocks of ${blockBytes} bytes: expected a power of two from ${MIN_BLOCK_BYTES} to ${MAX_BLOCK_BYTES}`,
      );
    }
    this.blockBytes = blockBytes;
    this.#productOf = productOf;
  }

  /** Number of frames in the block. With 0, the following numbers and times are undefined. */
  get frames(): number {
    return this.#frames;
  }

  /** Sequence number of the first frame. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  /** Sequence number of the last frame. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Time of the first frame, microseconds since 1970. */
  get firstTimeUs(): number {
    return this.#firstTimeUs;
  }

  /** Latest time of a frame, microseconds since 1970. */
  get latestTimeUs(): number {
    return this.#latestTimeUs;
  }

  /**
   * Begins a block; discards an open one. If the devices exceed the table, the last ones lose their texts, then their
   * entries, so that the longest message always fits.
   *
   * @throws {RangeError} the metadata is invalid
   */
  begin({ devices = [], metadata = {} }: { devices?: readonly BlockDevice[]; metadata?: BlockMetadata } = {}): void {
    const start = framesStart(VERSION);
    this.#metadata = encodeMetadata(metadata);
    const longest = MAX_FRAME_HEADER_BYTES + MAX_MESSAGE_BYTES + CLAIM_ENTRY_BYTES;
    const maxTableBytes = Math.min(MAX_FIRST_TABLE_BYTES, this.blockBytes - start - TRAILER_BYTES - longest);
    const needed = 2 + this.#metadata.length + ENTRY_HEADER_BYTES;
    // For the counters at the end of the block.
    const reserve = metadata.counts ? ENTRY_HEADER_BYTES + endBytesOf(metadata.counts) : 0;
    const fixed = Math.max(needed, Math.min(needed + reserve, maxTableBytes));
    this.#entries = encodeEntries(devices, { maxBytes: maxTableBytes - fixed });
    this.#devices = devices;
    this.#tableBytes = this.#entries.reduce((sum, { bytes }) => sum + bytes.length + ENTRY_BUS_BYTES, fixed);
    this.#resize(Math.min(FIRST_BYTES, this.blockBytes));
    this.#claims = [];
    this.#frames = 0;
    this.#at = start;
    this.#limit = this.blockBytes - TRAILER_BYTES - this.#tableBytes;
  }

  /**
   * Appends a message; copies its bytes.
   *
   * @throws {OversizedMessageError} it would not fit even into an empty block with the same devices and metadata
   * @throws {RangeError} the number, time or bus cannot be stored
   */
  append(seq: number, message: BlockFrame): AppendResult {
    const { id, bus, timeUs, length } = message;
    let delta = 0;
    if (this.#frames > 0) {
      if (seq !== this.#lastSeq + 1 || timeUs < this.#latestTimeUs - MAX_DISORDER_US) return "break";
      delta = timeUs - this.#lastTimeUs;
    }
    if (!Number.isSafeInteger(timeUs) || !Number.isSafeInteger(seq) || seq < 0 || !(bus >= 0 && bus < MAX_BUSES)) {
      throw new RangeError(`Cannot store frame ${seq} of time ${timeUs} and bus ${bus}`);
    }
    const isClaim = (id & PGN_BITS) === CLAIM_BITS && length >= CLAIM_BYTES;
    if (isClaim || this.#at + MAX_FRAME_HEADER_BYTES + length > this.#limit) {
      const needed = frameBytes(delta, length) + (isClaim ? CLAIM_ENTRY_BYTES : 0);
      const tableFull = isClaim && this.#tableBytes + CLAIM_ENTRY_BYTES > MAX_TABLE_BYTES;
      if (tableFull || this.#at + needed > this.#limit) return this.#reject(needed);
    }
    const end = this.#at + MAX_FRAME_HEADER_BYTES + length;
    if (end > this.#bytes.length) this.#grow(end);
    if (this.#frames === 0) this.#start(seq, timeUs);
    if (isClaim) this.#addClaim(message);
    this.#write(message, delta);
    this.#frames++;
    this.#lastSeq = seq;
    this.#lastTimeUs = timeUs;
    if (timeUs > this.#latestTimeUs) this.#latestTimeUs = timeUs;
    return "added";
  }

  /**
   * Ends the block and returns its bytes; the caller owns them.
   *
   * @param end counters to store in it, if there is room
   */
  finish(end?: BlockEnd): Uint8Array<ArrayBuffer> {
    this.#requireOpen();
    if (end) this.#addEnd(end);
    if (this.#bytes.length < this.blockBytes) this.#resize(this.blockBytes, this.#bytes);
    const bytes = this.#bytes;
    this.#seal(bytes);
    this.#bytes = new Uint8Array(0);
    this.#limit = -1;
    this.#frames = 0;
    return bytes;
  }

  /**
   * As {@linkcode BlockBuilder.finish}, with the numbers and times of the frames.
   *
   * @internal
   */
  seal(epochWord: number, end?: BlockEnd): SealedBlock {
    const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = this;
    return { bytes: this.finish(end), firstSeq, lastSeq, firstTimeUs, latestTimeUs, epochWord };
  }

  /** A copy of the block as if it ended now; the block stays open. */
  copy(): Uint8Array<ArrayBuffer> {
    this.#requireOpen();
    const bytes = new Uint8Array(this.blockBytes);
    bytes.set(this.#bytes);
    this.#seal(bytes);
    return bytes;
  }

  #addEnd(end: BlockEnd): void {
    const metadata = concat([this.#metadata, encodeEndEntry(end)]);
    const table = joinTable([...this.#entries, ...this.#claimEntries()], metadata);
    const fits = table.length <= MAX_TABLE_BYTES && this.#at + table.length + TRAILER_BYTES <= this.blockBytes;
    if (fits) this.#metadata = metadata;
  }

  #grow(needed: number): void {
    let bytes = this.#bytes.length;
    while (bytes < needed && bytes < this.blockBytes) bytes *= 2;
    if (bytes > this.#bytes.length) this.#resize(bytes, this.#bytes);
  }

  #resize(bytes: number, content: Uint8Array = new Uint8Array(0)): void {
    this.#bytes = new Uint8Array(bytes);
    this.#bytes.set(content);
    this.#view = new DataView(this.#bytes.buffer);
  }

  #requireOpen(): void {
    if (this.#limit < 0) throw new Error("Cannot use a block builder before begin()");
  }

  #reject(needed: number): AppendResult {
    this.#requireOpen();
    const available = this.#limit + this.#claims.length * CLAIM_ENTRY_BYTES - framesStart(VERSION);
    if (needed > available) {
      throw new OversizedMessageError(`A message needs ${needed} bytes of a block, which has ${available} for frames`);
    }
    return "full";
  }

  #start(seq: number, timeUs: number): void {
    this.#view.setBigInt64(0, BigInt(timeUs), true);
    this.#view.setBigUint64(BASE_SEQ_AT, BigInt(seq), true);
    this.#firstSeq = seq;
    this.#firstTimeUs = timeUs;
    this.#latestTimeUs = timeUs;
  }

  #addClaim({ id, bus, data, offset }: BlockFrame): void {
    this.#claims.push({ bus, src: sourceOfId(id), name: nameFromBytes(data, offset), activeFrom: this.#frames });
    this.#tableBytes += CLAIM_ENTRY_BYTES;
    this.#limit -= CLAIM_ENTRY_BYTES;
  }

  #write({ id, bus, data, offset, length }: BlockFrame, delta: number): void {
    const bytes = this.#bytes;
    let at = delta < 0 ? this.#negativeVarint(this.#at, delta) : this.#varint(this.#at, delta);
    const stored = packBus(id, bus);
    if (length === 8) {
      this.#view.setUint32(at, stored | EIGHT_BYTES_FLAG, true);
      at += 4;
    } else {
      this.#view.setUint32(at, stored, true);
      at = this.#varint(at + 4, length);
    }
    for (let i = 0; i < length; i++) bytes[at + i] = data[offset + i] ?? 0;
    this.#at = at + length;
  }

  /** Writes a varint. Returns the offset after it. */
  #varint(at: number, value: number): number {
    const bytes = this.#bytes;
    let end = at;
    let rest = value;
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 0x80)) bytes[end++] = rest % 0x80 | 0x80;
    for (; rest >= 0x80; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80;
    bytes[end++] = rest;
    return end;
  }

  /** Writes a negative number as its two's complement in 64 bits. Returns the offset after it. */
  #negativeVarint(at: number, value: number): number {
    const bytes = this.#bytes;
    // One's complement digit by digit: ~value is -value - 1.
    let rest = -value - 1;
    for (let i = 0; i < MAX_VARINT_BYTES - 1; i++) {
      bytes[at + i] = (~(rest % 0x80) & 0x7f) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    bytes[at + MAX_VARINT_BYTES - 1] = 1;
    return at + MAX_VARINT_BYTES;
  }

  /** Writes table, trailer and checksum. */
  #seal(bytes: Uint8Array<ArrayBuffer>): void {
    const table = encodeTable([...this.#entries, ...this.#claimEntries()], this.#metadata);
    const end = bytes.length;
    const view = new DataView(bytes.buffer);
    bytes.set(table, end - TRAILER_BYTES - table.length);
    view.setUint16(end - TABLE_BYTES_FROM_END, table.length, true);
    view.setUint32(end - FRAME_COUNT_FROM_END, this.#frames, true);
    view.setUint32(end - CRC_FROM_END, crc32c(bytes.subarray(0, end - CRC_FROM_END)), true);
  }

  /** Table entries of the claims: with the current product information for the last claim of an address, else with the former. */
  #claimEntries(): Entry[] {
    const last = new Map(this.#claims.map(({ bus, src, name }) => [`${bus} ${src}`, name]));
    return this.#claims.map((claim) => {
      const { bus, src, name } = claim;
      const current = last.get(`${bus} ${src}`) === name ? this.#productOf(bus, src) : undefined;
      const former = this.#devices.find((device) => device.bus === bus && device.name === name);
      return encodeEntry({ ...(current ?? former ?? NO_PRODUCT), ...claim }, { maxTextBytes: MAX_CLAIM_TEXT_BYTES });
    });
  }
}

function varintBytes(value: number): number {
  if (value < 0) return MAX_VARINT_BYTES;
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

function frameBytes(delta: number, length: number): number {
  return varintBytes(delta) + 4 + (length === 8 ? 8 : varintBytes(length) + length);
}
