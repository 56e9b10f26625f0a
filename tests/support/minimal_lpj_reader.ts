// Reads .lpj files as software does that was written before this project: from the reference of the format alone, with
// no code in common with src, and without knowing what this project adds. Everything is read at once, nothing is fast.
import { zstdDecompressSync } from "node:zlib";

/** A frame of a file. */
export interface LpjFrame {
  /** 0n in version 1. */
  seq: bigint;
  timeUs: bigint;
  prio: number;
  pgn: number;
  src: number;
  dst: number;
  /** Hex. */
  data: string;
}

/** A device entry of a block. */
export interface LpjDevice {
  src: number;
  name: bigint;
  activeFrom: number;
  productCode: number;
  /** Model, software version, model version, serial number. */
  texts: string[];
}

/** A block. */
export interface LpjBlock {
  baseTimeUs: bigint;
  baseSeq: bigint;
  frames: LpjFrame[];
  devices: LpjDevice[];
}

/** A file. */
export interface LpjFile {
  version: number;
  blockSize: number;
  compression: number;
  /** Whether blocks were found by an index. */
  indexed: boolean;
  blocks: LpjBlock[];
}

/** Reads a whole file, types none and zstd. @throws {Error} it is not as the reference says */
export function readLpj(bytes: Uint8Array): LpjFile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  check(new TextDecoder().decode(bytes.subarray(0, 3)) === "LPJ", "magic");
  const version = view.getUint8(3);
  check(version === 1 || version === 2, "version");
  const blockSize = view.getUint32(4, true);
  check(blockSize >= 4096 && (blockSize & (blockSize - 1)) === 0, "block size");
  const compression = view.getUint32(8, true) & 0xff;
  check(compression <= 1, "compression");
  const offsets = compression === 1 ? readIndex(view) : undefined;
  const raw = compression === 0 ? plainBlocks(bytes, blockSize) : packedBlocks(bytes, { version, blockSize, offsets });
  const blocks = raw.map((block) => readBlock(block, version));
  return { version, blockSize, compression, indexed: offsets !== undefined, blocks };
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(`Not as the format says: ${what}`);
}

function readIndex(view: DataView): number[] | undefined {
  const end = view.byteLength;
  if (end < 24 || view.getUint32(end - 4, false) !== 0x4c504a49) return undefined;
  const count = view.getUint32(end - 8, true);
  const start = end - 8 - 8 * count;
  const offsets = Array.from({ length: count }, (_, i) => Number(view.getBigUint64(start + 8 * i, true)));
  offsets.forEach((offset, i) => check(offset >= 16 && offset < start && offset > (offsets[i - 1] ?? 0), "index"));
  return offsets;
}

function plainBlocks(bytes: Uint8Array, blockSize: number): Uint8Array[] {
  const count = Math.floor((bytes.length - 16) / blockSize);
  return Array.from({ length: count }, (_, i) => bytes.subarray(16 + i * blockSize, 16 + (i + 1) * blockSize));
}

function packedBlocks(
  bytes: Uint8Array,
  { version, blockSize, offsets }: { version: number; blockSize: number; offsets: number[] | undefined },
): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const headerSize = version === 1 ? 12 : 20;
  const blocks: Uint8Array[] = [];
  const read = (at: number): number => {
    const length = view.getUint32(at + headerSize - 4, true);
    const start = at + headerSize;
    if (length === 0 || start + length > bytes.length) return 0;
    const block = new Uint8Array(zstdDecompressSync(bytes.subarray(start, start + length)));
    check(block.length === blockSize, "decompressed size");
    const copied = headerSize - 4;
    check(block.subarray(0, copied).toHex() === bytes.subarray(at, at + copied).toHex(), "block header");
    blocks.push(block);
    return start + length;
  };
  if (offsets) offsets.forEach(read);
  else for (let at = 16; at !== 0 && at + headerSize <= bytes.length;) at = read(at);
  return blocks;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  return crc;
});

function checksum(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff]!;
  return (crc ^ 0xffffffff) >>> 0;
}

function readBlock(block: Uint8Array, version: number): LpjBlock {
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  const size = block.length;
  check(checksum(block.subarray(0, size - 4)) === view.getUint32(size - 4, true), "checksum");
  const count = view.getUint32(size - 8, true);
  const tableStart = size - 10 - view.getUint16(size - 10, true);
  const baseTimeUs = view.getBigInt64(0, true);
  const baseSeq = version === 2 ? view.getBigUint64(8, true) : 0n;
  let at = version === 2 ? 16 : 8;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = BigInt(view.getUint8(at++));
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  const frames: LpjFrame[] = [];
  let timeUs = baseTimeUs;
  for (let i = 0; i < count; i++) {
    // The peer's reader adds the 64 bits as a signed number.
    const delta = BigInt.asIntN(64, varint());
    if (i > 0) timeUs += delta;
    const id = view.getUint32(at, true);
    at += 4;
    const length = id >>> 31 ? 8 : Number(varint());
    check(at + length <= tableStart, `frame ${i}`);
    const data = block.subarray(at, at + length).toHex();
    at += length;
    frames.push({ seq: version === 2 ? baseSeq + BigInt(i) : 0n, timeUs, ...readId(id), data });
  }
  return { baseTimeUs, baseSeq, frames, devices: readDevices(block.subarray(tableStart, size - 10)) };
}

function readId(id: number): { prio: number; pgn: number; src: number; dst: number } {
  const page = (id >>> 24) & 1;
  const format = (id >>> 16) & 0xff;
  const specific = (id >>> 8) & 0xff;
  const isBroadcast = format >= 240;
  const pgn = (page << 16) | (format << 8) | (isBroadcast ? specific : 0);
  return { prio: (id >>> 26) & 7, pgn, src: id & 0xff, dst: isBroadcast ? 255 : specific };
}

function readDevices(table: Uint8Array): LpjDevice[] {
  const view = new DataView(table.buffer, table.byteOffset, table.length);
  const devices: LpjDevice[] = [];
  let at = 2;
  for (let i = view.getUint16(0, true); i > 0; i--) {
    const src = view.getUint8(at);
    const name = view.getBigUint64(at + 1, true);
    const activeFrom = view.getUint32(at + 9, true);
    const productCode = view.getUint16(at + 13, true);
    at += 15;
    const texts = [0, 1, 2, 3].map(() => {
      const length = view.getUint8(at);
      at += 1 + length;
      return new TextDecoder().decode(table.subarray(at - length, at));
    });
    devices.push({ src, name, activeFrom, productCode, texts });
  }
  return devices;
}
