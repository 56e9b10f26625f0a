import { type Block, readBlock } from "../block/block.ts";
import { decompress } from "../block/compression.ts";
import { BlockError } from "../errors.ts";
import {
  type BlockHeader,
  blockHeaderBytes,
  FILE_HEADER_BYTES,
  type FileHeader,
  INDEX_FOOTER_BYTES,
  indexBytesOf,
  parseBlockHeader,
  parseFileHeader,
  parseIndex,
} from "../file/layout.ts";
import { Ranges } from "../../base/mod.ts";
import type { OpenSource } from "../file/source.ts";

/** Numbers of an epoch, given by its first four bytes; `end` is exclusive. */
export interface SeenRange {
  /** First four bytes of the epoch. */
  epochWord: number;
  /** First number. */
  start: number;
  /** The number after the last one. */
  end: number;
}

/**
 * Frames that a reader has seen, so that none is returned twice: after a recovery a block may be in two files, and a block
 * that is being written may also be in memory. Duplicates are found by number. Files without an epoch number each run from
 * 1; there only an immediate repetition of the same block is a duplicate.
 */
export class SeenBlocks {
  readonly #byEpoch = new Map<number, Ranges>();
  #last = { seq: NaN, timeUs: NaN, count: NaN };

  /**
   * Begins with what was seen before.
   *
   * @param seen default: nothing
   */
  constructor(seen: readonly SeenRange[] = []) {
    for (const { epochWord, start, end } of seen) this.#seenOf(epochWord).add(start, end);
  }

  /** True if a higher number of the epoch was seen, and the block's first number was not. */
  isPassed(epochWord: number, firstSeq: number): boolean {
    const seen = epochWord === 0 ? undefined : this.#byEpoch.get(epochWord);
    return seen !== undefined && (seen.last ?? 0) > firstSeq && !seen.has(firstSeq);
  }

  /** Returns the parts of a block that were not seen before, and marks them as seen. */
  fresh(block: Block, epochWord: number): Block[] {
    const { baseSeq, baseTimeUs, frameCount } = block;
    if (frameCount === 0) return [];
    if (baseSeq === undefined) return [block];
    if (epochWord === 0) {
      const { seq, timeUs, count } = this.#last;
      this.#last = { seq: baseSeq, timeUs: baseTimeUs, count: frameCount };
      return seq === baseSeq && timeUs === baseTimeUs && count === frameCount ? [] : [block];
    }
    const seen = this.#seenOf(epochWord);
    const end = baseSeq + frameCount;
    const fresh = seen.holes(end, baseSeq);
    seen.add(baseSeq, end);
    return fresh.map((part) =>
      part.start === baseSeq && part.end === end ? block : block.slice(part.start - baseSeq, part.end - baseSeq)
    );
  }

  #seenOf(epochWord: number): Ranges {
    let seen = this.#byEpoch.get(epochWord);
    if (seen === undefined) this.#byEpoch.set(epochWord, seen = new Ranges());
    return seen;
  }
}

/** Longest file header with the header of the first block, bytes. */
export const HEAD_BYTES: number = FILE_HEADER_BYTES + 24;
/** Magic number of zstd, which follows the header of a compressed block. */
const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd] as const;
/** Bytes searched at a time. */
const SEARCH_BYTES = 65_536;
/** Maximum number of magic numbers that begin no block: more of them are an attack. */
const MAX_TRIES = 1000;

/** One block of a file. */
export interface IndexedBlock {
  /** Offset of its header. */
  offset: number;
  /** Its header. */
  header: BlockHeader;
  /** The block itself if it is in no file: frames of a write-ahead log. */
  unsealed?: Uint8Array<ArrayBuffer>;
}

/** Locations of a file's blocks. */
export interface FileIndex {
  /** Header of the file. */
  header: FileHeader;
  /** In file order. */
  blocks: readonly IndexedBlock[];
  /** Offset after the last complete block. */
  end: number;
  /** `closed`: ends with an index. `open`: ends with its last block. `torn`: other bytes follow the last block. */
  state: "closed" | "open" | "torn";
  /** Number of offsets where a block should begin and none does. Blocks after them are listed nevertheless. */
  damaged: number;
}

/** Reads bytes of a file at an offset; fewer than requested at its end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array<ArrayBuffer>>;

/** Buffers `windowBytes` of a file: consecutive small reads mostly come from memory. A larger read bypasses the buffer. */
export function readingAhead(read: ReadAt, windowBytes: number): ReadAt {
  let start = 0;
  let window: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  return async (offset, length) => {
    if (length > windowBytes) return await read(offset, length);
    if (offset < start || offset + length > start + window.length) {
      start = offset;
      window = await read(offset, windowBytes);
    }
    return window.slice(offset - start, offset - start + length);
  };
}

/** Size of a block in its file, bytes. */
export function storedBytes({ headerBytes, dictionaryBytes, dataBytes }: BlockHeader): number {
  return headerBytes + dictionaryBytes + dataBytes;
}

async function offsetsOfIndex(read: ReadAt, fileBytes: number): Promise<number[] | undefined> {
  const footer = await read(Math.max(0, fileBytes - INDEX_FOOTER_BYTES), INDEX_FOOTER_BYTES);
  const bytes = indexBytesOf(footer, { fileBytes });
  return bytes === undefined ? undefined : parseIndex(await read(fileBytes - bytes, bytes), { fileBytes });
}

/** Offset of the first readable block between `from` and `end`; undefined if there is none. */
async function findBlock(
  read: ReadAt,
  { header, from, end }: { header: FileHeader; from: number; end: number },
): Promise<number | undefined> {
  // Uncompressed blocks are at fixed offsets, and a dictionary hides the magic number.
  if (header.compression !== "zstd") return undefined;
  const headerBytes = blockHeaderBytes(header);
  let tries = 0;
  for (let at = from; at + headerBytes < end; at += SEARCH_BYTES) {
    const bytes = await read(at, Math.min(SEARCH_BYTES + headerBytes + ZSTD_MAGIC.length - 1, end - at));
    for (let mark = bytes.indexOf(ZSTD_MAGIC[0]); mark >= 0; mark = bytes.indexOf(ZSTD_MAGIC[0], mark + 1)) {
      const start = mark - headerBytes;
      if (start < 0 || start >= SEARCH_BYTES || !ZSTD_MAGIC.every((byte, i) => bytes[mark + i] === byte)) continue;
      if (await isReadable(read, { header, offset: at + start, end })) return at + start;
      if (++tries >= MAX_TRIES) return undefined;
    }
  }
  return undefined;
}

async function isReadable(
  read: ReadAt,
  { header, offset, end }: { header: FileHeader; offset: number; end: number },
): Promise<boolean> {
  const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
  if (found.kind !== "block" || found.header.compression === "zstd-dict") return false;
  const { compression, headerBytes, dataBytes } = found.header;
  if (offset + storedBytes(found.header) > end) return false;
  try {
    const data = await read(offset + headerBytes, dataBytes);
    readBlock(decompress(data, { compression, blockBytes: header.blockBytes }), header);
    return true;
  } catch (error) {
    if (error instanceof BlockError) return false;
    throw error;
  }
}

/**
 * Locates the blocks of a file: by its index, else by the length of each block.
 *
 * @param options.onBlock called for each block, in file order
 * @param options.search after a damaged length, search the file for the next readable block
 * @returns offsets where no block begins though one should, and how the file ends
 */
export async function locateBlocks(
  read: ReadAt,
  { header, fileBytes, onBlock, search }: {
    header: FileHeader;
    fileBytes: number;
    onBlock: (block: IndexedBlock) => void;
    search: boolean;
  },
): Promise<{ damaged: number[]; end: number; state: FileIndex["state"] }> {
  const offsets = header.compression === "none" ? undefined : await offsetsOfIndex(read, fileBytes);
  const damaged: number[] = [];
  let last: number | undefined;
  let end = FILE_HEADER_BYTES;
  const addBlock = async (offset: number, limit: number) => {
    const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
    if (found.kind !== "block" || offset + storedBytes(found.header) > limit) return false;
    onBlock({ offset, header: found.header });
    last = offset;
    end = offset + storedBytes(found.header);
    return true;
  };
  if (offsets !== undefined) {
    for (const [i, offset] of offsets.entries()) {
      const next = offsets[i + 1] ?? fileBytes;
      if (!await addBlock(offset, search ? fileBytes : next)) damaged.push(offset);
    }
    return { damaged, end, state: "closed" };
  }
  while (end < fileBytes) {
    if (await addBlock(end, fileBytes)) continue;
    if (!search) break;
    // The length of the last block may be wrong and have skipped others.
    const next = await findBlock(read, { header, from: (last ?? FILE_HEADER_BYTES) + 1, end: fileBytes });
    if (next === undefined) break;
    damaged.push(end);
    end = next;
  }
  return { damaged, end, state: end === fileBytes ? "open" : "torn" };
}

/**
 * Reads the header of a file and locates all readable blocks.
 *
 * @throws {BlockError} the file is not a journal
 */
export async function readFileIndex(read: ReadAt, fileBytes: number): Promise<FileIndex> {
  const header = parseFileHeader(await read(0, FILE_HEADER_BYTES));
  const blocks: IndexedBlock[] = [];
  const onBlock = (block: IndexedBlock) => blocks.push(block);
  const { damaged, end, state } = await locateBlocks(read, { header, fileBytes, onBlock, search: true });
  return { header, blocks, end, state, damaged: damaged.length };
}

/** Beginning of a file. */
export interface FileHead {
  header: FileHeader;
  /** Size of the file. */
  bytes: number;
  /** Undefined if the header of the first block is damaged. */
  first: { timeUs: number; seq: number } | undefined;
}

/**
 * Reads the header of a file and of its first block.
 *
 * @returns undefined if the file has no complete block
 * @throws {BlockError} the file is not a journal
 */
export async function readHead(read: ReadAt, fileBytes: number): Promise<FileHead | undefined> {
  const bytes = await read(0, HEAD_BYTES);
  const header = parseFileHeader(bytes);
  const found = parseBlockHeader(bytes.subarray(FILE_HEADER_BYTES), header);
  if (found.kind === "damaged") return { header, bytes: fileBytes, first: undefined };
  if (found.kind === "end" || FILE_HEADER_BYTES + storedBytes(found.header) > fileBytes) return undefined;
  return { header, bytes: fileBytes, first: { timeUs: found.header.baseTimeUs, seq: found.header.baseSeq ?? NaN } };
}

/** As {@linkcode readHead}, of the file at a path. */
export async function readHeadOf(path: string, open: OpenSource): Promise<FileHead | undefined> {
  using source = await open(path);
  return await readHead((offset, length) => source.read(offset, length), source.bytes);
}
