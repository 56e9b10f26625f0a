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
} from "./file_layout.ts";

/** One block of a file. */
export interface IndexedBlock {
  /** Where its header begins. */
  offset: number;
  header: BlockHeader;
}

/** Where the blocks of a file are. */
export interface FileIndex {
  header: FileHeader;
  blocks: readonly IndexedBlock[];
  /** Byte behind the last whole block. */
  end: number;
  /** `closed`: ends with an index. `open`: ends with its last block. `torn`: something else stands behind it. */
  state: "closed" | "open" | "torn";
}

/** Bytes of a file by place; fewer than asked for at its end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array<ArrayBuffer>>;

/** Reads `length` bytes at a place of an open file, fewer at its end. */
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

/** Bytes that a block takes in its file. */
export function storedBytes({ headerBytes, dictionaryBytes, dataBytes }: BlockHeader): number {
  return headerBytes + dictionaryBytes + dataBytes;
}

async function offsetsOfIndex(read: ReadAt, fileBytes: number): Promise<number[] | undefined> {
  const footer = await read(Math.max(0, fileBytes - INDEX_FOOTER_BYTES), INDEX_FOOTER_BYTES);
  const bytes = indexBytesOf(footer, { fileBytes });
  return bytes === undefined ? undefined : parseIndex(await read(fileBytes - bytes, bytes), { fileBytes });
}

/** The blocks one after the other, from the first on, until none begins; a length that cannot be ends them. */
async function walk(read: ReadAt, { header, end }: { header: FileHeader; end: number }): Promise<FileIndex> {
  const blocks: IndexedBlock[] = [];
  let offset = FILE_HEADER_BYTES;
  while (offset < end) {
    const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
    if (found.kind !== "block" || offset + storedBytes(found.header) > end) break;
    blocks.push({ offset, header: found.header });
    offset += storedBytes(found.header);
  }
  return { header, blocks, end: offset, state: offset === end ? "open" : "torn" };
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
    if (found.kind !== "block") return await walk(read, { header, end: fileBytes });
    blocks.push({ offset, header: found.header });
  }
  const last = blocks.at(-1);
  return {
    header,
    blocks,
    end: last === undefined ? FILE_HEADER_BYTES : last.offset + storedBytes(last.header),
    state: "closed",
  };
}
