import { BlockTable } from "./block_table.ts";
import { type ReadAt, storedBytes } from "./file_index.ts";
import {
  blockHeaderBytes,
  FILE_HEADER_BYTES,
  type FileHeader,
  INDEX_FOOTER_BYTES,
  indexBytesOf,
  parseBlockHeader,
  parseFileHeader,
  parseIndex,
} from "../file/layout.ts";

/** Longest header of a file and its first block. */
const HEAD_BYTES = FILE_HEADER_BYTES + 24;

/** What a look at the beginning of a file tells. */
export interface FileHead {
  header: FileHeader;
  /** Size of the file. */
  bytes: number;
  /** Undefined if the first block is damaged, and later ones have to be read. */
  first: { timeUs: number; seq: number } | undefined;
}

/**
 * Reads a file's header and that of its first block.
 *
 * @returns undefined when the file has no whole block
 * @throws {BlockError} the file is no journal
 */
export async function readHead(read: ReadAt, fileBytes: number): Promise<FileHead | undefined> {
  const bytes = await read(0, HEAD_BYTES);
  const header = parseFileHeader(bytes);
  const found = parseBlockHeader(bytes.subarray(FILE_HEADER_BYTES), header);
  if (found.kind === "damaged") return { header, bytes: fileBytes, first: undefined };
  if (found.kind === "end" || FILE_HEADER_BYTES + storedBytes(found.header) > fileBytes) return undefined;
  return { header, bytes: fileBytes, first: { timeUs: found.header.baseTimeUs, seq: found.header.baseSeq ?? NaN } };
}

/** What is wrong with a file. */
export interface TableFaults {
  /** Offsets of blocks that no length is known of. */
  damaged: readonly number[];
  /** Offset after the last complete block, if other bytes follow it. */
  tornAt: number | undefined;
}

/** Looks where the blocks of a file are: by its index, past headers that are damaged, or else block by block. */
export async function readTable(
  read: ReadAt,
  { header, fileBytes }: { header: FileHeader; fileBytes: number },
): Promise<{ table: BlockTable; faults: TableFaults }> {
  const offsets = header.compression === "none" ? undefined : await readOffsets(read, fileBytes);
  const table = new BlockTable();
  const damaged: number[] = [];
  for (const [i, offset] of (offsets ?? []).entries()) {
    const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
    const end = offsets?.[i + 1] ?? fileBytes;
    if (found.kind === "block" && offset + storedBytes(found.header) <= end) {
      table.addFound({ offset, header: found.header });
    } else damaged.push(offset);
  }
  if (offsets !== undefined) return { table, faults: { damaged, tornAt: undefined } };
  let offset = FILE_HEADER_BYTES;
  while (offset < fileBytes) {
    const found = parseBlockHeader(await read(offset, blockHeaderBytes(header)), header);
    if (found.kind !== "block" || offset + storedBytes(found.header) > fileBytes) break;
    table.addFound({ offset, header: found.header });
    offset += storedBytes(found.header);
  }
  return { table, faults: { damaged, tornAt: offset < fileBytes ? offset : undefined } };
}

async function readOffsets(read: ReadAt, fileBytes: number): Promise<number[] | undefined> {
  const footer = await read(Math.max(0, fileBytes - INDEX_FOOTER_BYTES), INDEX_FOOTER_BYTES);
  const bytes = indexBytesOf(footer, { fileBytes });
  return bytes === undefined ? undefined : parseIndex(await read(fileBytes - bytes, bytes), { fileBytes });
}
