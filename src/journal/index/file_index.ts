import { readBlock } from "../block/block.ts";
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

/** Magic number of a compressed block, after its header. */
const ZSTD_MARK = [0x28, 0xb5, 0x2f, 0xfd] as const;
/** Bytes that are searched at a time. */
const SEARCH_BYTES = 65_536;
/** Marks that turn out to begin no block; whoever made more of them did it on purpose. */
const MAX_TRIES = 1000;

/** One block of a file. */
export interface IndexedBlock {
  /** Offset of its header. */
  offset: number;
  /** What it says. */
  header: BlockHeader;
  /** The block itself where it is in no file: frames of a write-ahead log. */
  unsealed?: Uint8Array<ArrayBuffer>;
}

/** Locations of a file's blocks. */
export interface FileIndex {
  /** What the file says of all its blocks. */
  header: FileHeader;
  /** In the order in which they lie there. */
  blocks: readonly IndexedBlock[];
  /** Offset after the last complete block. */
  end: number;
  /** `closed`: ends with an index. `open`: ends with its last block. `torn`: something else stands behind it. */
  state: "closed" | "open" | "torn";
  /** Offsets where a block should begin and none does; blocks after them are listed nevertheless. */
  damaged: number;
}

/** Reads bytes of a file at an offset; fewer than requested at its end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array<ArrayBuffer>>;

/** Reads `length` bytes at an offset of an open file; fewer at its end. */
export async function readFileAt(
  file: Deno.FsFile,
  { offset, length }: { offset: number; length: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  await file.seek(offset, Deno.SeekMode.Start);
  let done = 0;
  while (done < length) {
    const read = await file.read(bytes.subarray(done));
    if (read === null) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

/**
 * Reads `windowBytes` at a time: who asks for small pieces one behind the other gets most of them from memory. A piece that
 * is larger is read by itself.
 */
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

/** Bytes that a block takes in its file. */
export function storedBytes({ headerBytes, dictionaryBytes, dataBytes }: BlockHeader): number {
  return headerBytes + dictionaryBytes + dataBytes;
}

async function offsetsOfIndex(read: ReadAt, fileBytes: number): Promise<number[] | undefined> {
  const footer = await read(Math.max(0, fileBytes - INDEX_FOOTER_BYTES), INDEX_FOOTER_BYTES);
  const bytes = indexBytesOf(footer, { fileBytes });
  return bytes === undefined ? undefined : parseIndex(await read(fileBytes - bytes, bytes), { fileBytes });
}

/** A block that begins in these bytes of a file and can be read; undefined when there is none. */
async function findBlock(
  read: ReadAt,
  { header, from, end }: { header: FileHeader; from: number; end: number },
): Promise<number | undefined> {
  // Blocks that are not compressed lie at places that are known, and those with dictionaries have no mark.
  if (header.compression !== "zstd") return undefined;
  const headerBytes = blockHeaderBytes(header);
  let tries = 0;
  for (let at = from; at + headerBytes < end; at += SEARCH_BYTES) {
    const bytes = await read(at, Math.min(SEARCH_BYTES + headerBytes + ZSTD_MARK.length - 1, end - at));
    for (let mark = bytes.indexOf(ZSTD_MARK[0]); mark >= 0; mark = bytes.indexOf(ZSTD_MARK[0], mark + 1)) {
      const start = mark - headerBytes;
      if (start < 0 || start >= SEARCH_BYTES || !ZSTD_MARK.every((byte, i) => bytes[mark + i] === byte)) continue;
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

/** The blocks in order. After damage it searches for the next readable block. */
async function walk(read: ReadAt, { header, end }: { header: FileHeader; end: number }): Promise<FileIndex> {
  const blocks: IndexedBlock[] = [];
  let offset = FILE_HEADER_BYTES;
  let damaged = 0;
  while (offset < end) {
    const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
    if (found.kind === "block" && offset + storedBytes(found.header) <= end) {
      blocks.push({ offset, header: found.header });
      offset += storedBytes(found.header);
      continue;
    }
    // It may be the length before that is wrong, and led past blocks.
    const from = (blocks.at(-1)?.offset ?? FILE_HEADER_BYTES) + 1;
    const next = await findBlock(read, { header, from, end });
    if (next === undefined) break;
    damaged++;
    offset = next;
  }
  return { header, blocks, end: offset, state: offset === end ? "open" : "torn", damaged };
}

/**
 * Where the blocks of a file are: by its index, or else block by block.
 *
 * @throws {BlockError} the file is no journal
 */
export async function readFileIndex(read: ReadAt, fileBytes: number): Promise<FileIndex> {
  const header = parseFileHeader(await read(0, FILE_HEADER_BYTES));
  const offsets = header.compression === "none" ? undefined : await offsetsOfIndex(read, fileBytes);
  if (offsets === undefined) return await walk(read, { header, end: fileBytes });
  const blocks: IndexedBlock[] = [];
  for (const offset of offsets) {
    const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
    const isWhole = found.kind === "block" && offset + storedBytes(found.header) <= fileBytes;
    if (isWhole) blocks.push({ offset, header: found.header });
  }
  const last = blocks.at(-1);
  return {
    header,
    blocks,
    end: last === undefined ? FILE_HEADER_BYTES : last.offset + storedBytes(last.header),
    state: "closed",
    damaged: offsets.length - blocks.length,
  };
}
