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
  NO_PRODUCT,
} from "./device_table.ts";
import { OversizedMessageError } from "../errors.ts";
import { encodeMetadata, NOTE_HEADER_BYTES } from "./metadata.ts";
import {
  type BlockDevice,
  type BlockMetadata,
  DEFAULT_BLOCK_BYTES,
  MAX_BLOCK_BYTES,
  MAX_BUSES,
  MIN_BLOCK_BYTES,
} from "../types.ts";

/** What a block keeps of a message. */
export type BlockFrame = Pick<Message, "id" | "bus" | "timeUs" | "data" | "offset" | "length">;

/**
 * `full`: no space is left. `break`: the number is not the next one, or the time lies more than a minute
 * ({@linkcode MAX_DISORDER_US}) before the latest of the block. Either way nothing was taken: finish the block, begin
 * another, and append again.
 */
export type AppendResult = "added" | "full" | "break";

/** Settings of a {@linkcode BlockBuilder}. */
export interface BlockBuilderOptions {
  /** Size of the blocks, a power of two. */
  blockBytes?: number;
  /** What is known, when a block ends, of the device that has an address now. */
  productOf?: (bus: number, src: number) => DeviceProduct | undefined;
}

/** PGN 60928, address claim: the bits of an identifier that say so. 126464 differs in the data page alone. */
const PGN_BITS = 0x3ff0000;
const CLAIM_BITS = 0xee0000;
/** Shortest address claim: a NAME. */
const CLAIM_BYTES = 8;
/** Texts of product information (PGN 126996) are 32 characters long; in UTF-8 they may be twice that. */
const MAX_CLAIM_TEXT_BYTES = 64;
/** Room that is kept for the entry of a claim, as its product is known only in the end. */
const CLAIM_ROOM = BARE_ENTRY_BYTES + 4 * MAX_CLAIM_TEXT_BYTES + ENTRY_BUS_BYTES;
/** What a frame may need beside its payload: delta, identifier, length. */
const FRAME_ROOM = MAX_VARINT_BYTES + 4 + 2;
/** Most bytes of a table when a block begins: claims need some, too. */
const MAX_FIRST_TABLE_BYTES = 49_152;
const VERSION = 2;

/** An address claim inside the block. */
interface Claim {
  bus: number;
  src: number;
  name: bigint;
  activeFrom: number;
}

/**
 * Puts frames into blocks of version 2, one block after the other. Appending allocates nothing. Numbers inside a block
 * run without a gap; each frame keeps its exact time, which may lie before that of the frame before it.
 */
export class BlockBuilder {
  /** Size of every block. */
  readonly blockBytes: number;
  readonly #productOf: (bus: number, src: number) => DeviceProduct | undefined;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Where the next frame begins. */
  #at = 0;
  /** Where frames must end; below 0 while no block is begun. */
  #limit = -1;
  #frames = 0;
  #firstSeq = 0;
  #lastSeq = 0;
  #firstTimeUs = 0;
  #lastTimeUs = 0;
  #latestTimeUs = 0;
  #devices: readonly BlockDevice[] = [];
  #entries: Entry[] = [];
  #notes = new Uint8Array(0);
  /** Bytes that the table will have at most. */
  #tableBytes = 0;
  #claims: Claim[] = [];

  /** Nothing is begun yet. @throws {RangeError} `blockBytes` is no power of two, too small or too large */
  constructor(options: BlockBuilderOptions = {}) {
    const { blockBytes = DEFAULT_BLOCK_BYTES, productOf = () => undefined } = options;
    if (!isBlockSize(blockBytes, { min: MIN_BLOCK_BYTES, max: MAX_BLOCK_BYTES })) {
      throw new RangeError(
        `Cannot make blocks of ${blockBytes} bytes: powers of two from ${MIN_BLOCK_BYTES} to ${MAX_BLOCK_BYTES} can be`,
      );
    }
    this.blockBytes = blockBytes;
    this.#productOf = productOf;
  }

  /** Frames in the block. While there are none, the numbers and times below say nothing. */
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
   * Begins a block; one that is open is forgotten. Devices that are too many for the table lose their texts, then their
   * entries, so that the longest message fits in any case.
   *
   * @throws {RangeError} notes that cannot be written
   */
  begin({ devices = [], notes = {} }: { devices?: readonly BlockDevice[]; notes?: BlockMetadata } = {}): void {
    const start = framesStart(VERSION);
    this.#notes = encodeMetadata(notes);
    const longest = FRAME_ROOM + MAX_MESSAGE_BYTES + CLAIM_ROOM;
    const room = Math.min(MAX_FIRST_TABLE_BYTES, this.blockBytes - start - TRAILER_BYTES - longest);
    const fixed = 2 + this.#notes.length + NOTE_HEADER_BYTES;
    this.#entries = encodeEntries(devices, { room: room - fixed });
    this.#devices = devices;
    this.#tableBytes = this.#entries.reduce((sum, { bytes }) => sum + bytes.length + ENTRY_BUS_BYTES, fixed);
    this.#bytes = new Uint8Array(this.blockBytes);
    this.#view = new DataView(this.#bytes.buffer);
    this.#claims = [];
    this.#frames = 0;
    this.#at = start;
    this.#limit = this.blockBytes - TRAILER_BYTES - this.#tableBytes;
  }

  /**
   * Takes a message, whose bytes are copied.
   *
   * @throws {OversizedMessageError} it fits into no block that begins like this one
   * @throws {RangeError} a number, time or bus that cannot be stored
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
    if (isClaim || this.#at + FRAME_ROOM + length > this.#limit) {
      const room = frameBytes(delta, length) + (isClaim ? CLAIM_ROOM : 0);
      const tableFull = isClaim && this.#tableBytes + CLAIM_ROOM > MAX_TABLE_BYTES;
      if (tableFull || this.#at + room > this.#limit) return this.#refuse(room);
    }
    if (this.#frames === 0) this.#start(seq, timeUs);
    if (isClaim) this.#keepClaim(message);
    this.#write(message, delta);
    this.#frames++;
    this.#lastSeq = seq;
    this.#lastTimeUs = timeUs;
    if (timeUs > this.#latestTimeUs) this.#latestTimeUs = timeUs;
    return "added";
  }

  /** Ends the block and gives its bytes, which are the caller's from then on. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#requireOpen();
    const bytes = this.#bytes;
    this.#seal(bytes);
    this.#bytes = new Uint8Array(0);
    this.#limit = -1;
    this.#frames = 0;
    return bytes;
  }

  /** The block as it would be if it ended here; it stays open. */
  copy(): Uint8Array<ArrayBuffer> {
    this.#requireOpen();
    const bytes = this.#bytes.slice();
    this.#seal(bytes);
    return bytes;
  }

  #requireOpen(): void {
    if (this.#limit < 0) throw new Error("Cannot use a block that has not begun");
  }

  #refuse(room: number): AppendResult {
    this.#requireOpen();
    const start = framesStart(VERSION);
    const largest = this.#limit + this.#claims.length * CLAIM_ROOM - start;
    if (room > largest) {
      throw new OversizedMessageError(`A message needs ${room} bytes of a block, which has ${largest} for frames`);
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

  #keepClaim({ id, bus, data, offset }: BlockFrame): void {
    this.#claims.push({ bus, src: sourceOfId(id), name: nameFromBytes(data, offset), activeFrom: this.#frames });
    this.#tableBytes += CLAIM_ROOM;
    this.#limit -= CLAIM_ROOM;
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

  /** Writes a varint. Returns where it ends. */
  #varint(at: number, value: number): number {
    const bytes = this.#bytes;
    let end = at;
    let rest = value;
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 0x80)) bytes[end++] = rest % 0x80 | 0x80;
    for (; rest >= 0x80; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80;
    bytes[end++] = rest;
    return end;
  }

  /** Writes a varint of a number below 0: its two's complement in 64 bits. Returns where it ends. */
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

  /** Writes table, trailer and checksum into the block's bytes. */
  #seal(bytes: Uint8Array<ArrayBuffer>): void {
    const table = encodeTable([...this.#entries, ...this.#claimEntries()], this.#notes);
    const end = bytes.length;
    const view = new DataView(bytes.buffer);
    bytes.set(table, end - TRAILER_BYTES - table.length);
    view.setUint16(end - TABLE_BYTES_FROM_END, table.length, true);
    view.setUint32(end - FRAME_COUNT_FROM_END, this.#frames, true);
    view.setUint32(end - CRC_FROM_END, crc32c(bytes.subarray(0, end - CRC_FROM_END)), true);
  }

  /** An address's last claim has the product that is known of it now; a NAME that moved on keeps the one it had. */
  #claimEntries(): Entry[] {
    const last = new Map(this.#claims.map(({ bus, src, name }) => [`${bus} ${src}`, name]));
    return this.#claims.map((claim) => {
      const { bus, src, name } = claim;
      const current = last.get(`${bus} ${src}`) === name ? this.#productOf(bus, src) : undefined;
      const product = current ?? this.#devices.find((device) => device.bus === bus && device.name === name) ??
        NO_PRODUCT;
      const { productCode, modelId, softwareVersion, modelVersion, modelSerial } = product;
      const device = { ...claim, productCode, modelId, softwareVersion, modelVersion, modelSerial };
      return encodeEntry(device, { maxTextBytes: MAX_CLAIM_TEXT_BYTES });
    });
  }
}

/** Bytes of a varint. */
function varintBytes(value: number): number {
  if (value < 0) return MAX_VARINT_BYTES;
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

function frameBytes(delta: number, length: number): number {
  return varintBytes(delta) + 4 + (length === 8 ? 8 : varintBytes(length) + length);
}
