import { type FormatVersion, framesStart, isBlockSize } from "../block/layout.ts";
import { BlockError } from "../errors.ts";
import type { Compression } from "../types.ts";

// A file: header | blocks | index (compressed files only, after an orderly close). All numbers little-endian.

/** `LPJ`. */
const FILE_MAGIC = [0x4c, 0x50, 0x4a] as const;
/** Bytes of a file's header: magic, version u8, block size u32, flags u32, epoch u32 (reserved in older software). */
export const FILE_HEADER_BYTES = 16;
/** Compressions; the lowest eight bits of the flags are an index of this list. */
const COMPRESSIONS: readonly Compression[] = ["none", "zstd", "zstd-dict"];
const COMPRESSION_MASK = 0xff;

/** `LPJI` as a number: the last four bytes of a file with an index. */
const INDEX_MAGIC = 0x494a504c;
/** Bytes after the offsets of an index: their count u32, magic. */
export const INDEX_FOOTER_BYTES = 8;
const OFFSET_BYTES = 8;
/** Maximum number of blocks in an index. */
const MAX_INDEX_BLOCKS = 262_144;

/** Largest dictionary that is read, bytes; peers write up to 8192 bytes, zstd's own tool up to 112,640. */
export const MAX_DICTIONARY_BYTES: number = 1024 * 1024;

/** Header of a file. */
export interface FileHeader {
  /** Format of the file. */
  version: FormatVersion;
  /** Bytes of each decompressed block. */
  blockBytes: number;
  /** Compression of the blocks. */
  compression: Compression;
  /** First four bytes of the epoch, as a little-endian number; 0 if the file names none. */
  epochWord: number;
}

/** Header before a compressed block; for an uncompressed block, its first bytes. */
export interface BlockHeader {
  /** Copy of the block's base time, not covered by a checksum: only for searching. Rounded above 2^53. */
  baseTimeUs: number;
  /** Copy of the block's base sequence number, likewise; undefined in version 1. */
  baseSeq: number | undefined;
  /** `zstd` if this block has no dictionary though the file's compression is `zstd-dict`. */
  compression: Compression;
  /** Bytes of the header itself; 0 for an uncompressed block. */
  headerBytes: number;
  /** Bytes of the dictionary that follows. */
  dictionaryBytes: number;
  /** Bytes of the stored block after header and dictionary. */
  dataBytes: number;
}

/** `end`: no block begins here. `damaged`: the lengths are invalid. */
export type BlockHeaderFound = { kind: "block"; header: BlockHeader } | { kind: "end" } | { kind: "damaged" };

/** The parts of a file header that determine the layout of block headers. */
export type FileKind = Pick<FileHeader, "version" | "compression" | "blockBytes">;

/** First four bytes of an epoch, as in a file's header. */
export function epochWordOf(epoch: Uint8Array): number {
  return new DataView(epoch.buffer, epoch.byteOffset, epoch.length).getUint32(0, true);
}

/** Encodes the header of a file. */
export function encodeFileHeader({ version, blockBytes, compression, epochWord }: FileHeader): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(FILE_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(FILE_MAGIC);
  bytes[3] = version;
  view.setUint32(4, blockBytes, true);
  view.setUint32(8, COMPRESSIONS.indexOf(compression), true);
  view.setUint32(12, epochWord, true);
  return bytes;
}

/** Parses the header of a file from its first bytes. @throws {BlockError} the file is not a readable journal */
export function parseFileHeader(bytes: Uint8Array): FileHeader {
  if (bytes.length < FILE_HEADER_BYTES || !FILE_MAGIC.every((byte, i) => bytes[i] === byte)) {
    throw new BlockError("file-header", "The file is not a journal");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, FILE_HEADER_BYTES);
  const version = view.getUint8(3);
  if (version !== 1 && version !== 2) throw new BlockError("version", `The journal has version ${version}, not 1 or 2`);
  const blockBytes = view.getUint32(4, true);
  if (!isBlockSize(blockBytes)) throw new BlockError("block-size", `The journal has blocks of ${blockBytes} bytes`);
  // The other bits of the flags are reserved.
  const code = view.getUint32(8, true) & COMPRESSION_MASK;
  const compression = COMPRESSIONS[code];
  if (compression === undefined) throw new BlockError("compression", `The journal has compression ${code}, not 0 to 2`);
  return { version, blockBytes, compression, epochWord: view.getUint32(12, true) };
}

/** Bytes that {@linkcode parseBlockHeader} needs: the header before a compressed block, or the first bytes of another. */
export function blockHeaderBytes({ version, compression }: Pick<FileHeader, "version" | "compression">): number {
  return framesStart(version) + (compression === "none" ? 0 : compression === "zstd" ? 4 : 8);
}

/** Encodes the header before a block; empty for an uncompressed one. */
export function encodeBlockHeader(
  header: Pick<BlockHeader, "baseTimeUs" | "baseSeq" | "dictionaryBytes" | "dataBytes">,
  kind: Pick<FileHeader, "version" | "compression">,
): Uint8Array<ArrayBuffer> {
  if (kind.compression === "none") return new Uint8Array(0);
  const bytes = new Uint8Array(blockHeaderBytes(kind));
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, BigInt(header.baseTimeUs), true);
  if (kind.version === 2) view.setBigUint64(8, BigInt(header.baseSeq ?? 0), true);
  if (kind.compression === "zstd-dict") view.setUint32(bytes.length - 8, header.dictionaryBytes, true);
  view.setUint32(bytes.length - 4, header.dataBytes, true);
  return bytes;
}

/** Parses the header of a block. Does not throw; the block itself has a checksum. */
export function parseBlockHeader(bytes: Uint8Array, kind: FileKind): BlockHeaderFound {
  const { version, blockBytes } = kind;
  const length = blockHeaderBytes(kind);
  if (bytes.length < length) return { kind: "end" };
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  const baseTimeUs = Number(view.getBigInt64(0, true));
  const baseSeq = version === 1 ? undefined : Number(view.getBigUint64(8, true));
  if (kind.compression === "none") {
    const rest = { compression: kind.compression, headerBytes: 0, dictionaryBytes: 0, dataBytes: blockBytes };
    return { kind: "block", header: { baseTimeUs, baseSeq, ...rest } };
  }
  const dataBytes = view.getUint32(length - 4, true);
  const dictionaryBytes = kind.compression === "zstd-dict" ? view.getUint32(length - 8, true) : 0;
  if (dataBytes === 0) return { kind: dictionaryBytes === 0 ? "end" : "damaged" };
  // Compression never makes a block twice as large.
  if (dataBytes > 2 * blockBytes || dictionaryBytes > MAX_DICTIONARY_BYTES) return { kind: "damaged" };
  const compression = dictionaryBytes === 0 ? "zstd" : kind.compression;
  const header = { baseTimeUs, baseSeq, compression, headerBytes: length, dictionaryBytes, dataBytes };
  return { kind: "block", header };
}

/** Encodes the index at the end of a compressed file. */
export function encodeIndex(offsets: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(offsets.length * OFFSET_BYTES + INDEX_FOOTER_BYTES);
  const view = new DataView(bytes.buffer);
  offsets.forEach((offset, i) => view.setBigUint64(i * OFFSET_BYTES, BigInt(offset), true));
  view.setUint32(bytes.length - 8, offsets.length, true);
  view.setUint32(bytes.length - 4, INDEX_MAGIC, true);
  return bytes;
}

/** Bytes of the index of a file, from the last bytes of the file; undefined if it has none. */
export function indexBytesOf(footer: Uint8Array, { fileBytes }: { fileBytes: number }): number | undefined {
  if (footer.length < INDEX_FOOTER_BYTES) return undefined;
  const view = new DataView(footer.buffer, footer.byteOffset + footer.length - INDEX_FOOTER_BYTES, INDEX_FOOTER_BYTES);
  const count = view.getUint32(0, true);
  if (view.getUint32(4, true) !== INDEX_MAGIC || count > MAX_INDEX_BLOCKS) return undefined;
  const bytes = count * OFFSET_BYTES + INDEX_FOOTER_BYTES;
  return FILE_HEADER_BYTES + bytes <= fileBytes ? bytes : undefined;
}

/**
 * Parses an index, offsets and footer, from the end of a file.
 *
 * @returns offsets of the blocks; undefined if they are invalid
 */
export function parseIndex(bytes: Uint8Array, { fileBytes }: { fileBytes: number }): number[] | undefined {
  if (indexBytesOf(bytes, { fileBytes }) !== bytes.length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const blocksEnd = fileBytes - bytes.length;
  const offsets: number[] = [];
  let previous = FILE_HEADER_BYTES - 1;
  for (let at = 0; at < bytes.length - INDEX_FOOTER_BYTES; at += OFFSET_BYTES) {
    const offset = Number(view.getBigUint64(at, true));
    if (offset <= previous || offset >= blocksEnd) return undefined;
    offsets.push(offset);
    previous = offset;
  }
  return offsets;
}
