import type { BlockLocation } from "../index/block_table.ts";
import {
  type FileIndex,
  type IndexedBlock,
  readFileAt,
  readFileIndex,
  readingAhead,
  storedBytes,
} from "../index/file_index.ts";
import { FILE_HEADER_BYTES, parseFileHeader } from "./layout.ts";

/** Bytes of a file that are read at once to find its blocks: they lie close together where they are compressed. */
const WINDOW_BYTES = 262_144;

/** A journal file on disk, for reading from start to end. */
export interface BlockFile {
  /** Where it is. */
  path: string;
  /** Size of the file. */
  bytes: number;
  /** Its header, where its blocks are, and how it ends. */
  index: FileIndex;
  /** Locations of its blocks, in file order. */
  blocks: readonly BlockLocation[];
  /** Of a write-ahead log: name of the `.lpj` file that a start would write its frames into. */
  sealsInto?: string;
}

/**
 * Locates the blocks of a file without reading them.
 *
 * @throws {BlockError} the file is no journal
 * @throws {Deno.errors.NotFound} there is none
 */
export async function openBlockFile(path: string): Promise<BlockFile> {
  using file = await Deno.open(path, { read: true });
  const { bytes, index } = await findBlocks(file);
  return { path, bytes, index, blocks: index.blocks.map(placeOf) };
}

/** The same for an open file. */
export async function findBlocks(file: Deno.FsFile): Promise<Pick<BlockFile, "bytes" | "index">> {
  const { size, isFile } = await file.stat();
  // A pipe would be waited for.
  if (!isFile) throw new TypeError("it is no file");
  const read = (offset: number, length: number) => readFileAt(file, { offset, length });
  const { compression } = parseFileHeader(await read(0, FILE_HEADER_BYTES));
  const index = await readFileIndex(compression === "none" ? read : readingAhead(read, WINDOW_BYTES), size);
  return { bytes: size, index };
}

/** Where a block is, for {@linkcode BlockReader.read}. */
export function placeOf({ offset, header, unsealed }: IndexedBlock): BlockLocation {
  return { offset, bytes: storedBytes(header), timeUs: header.baseTimeUs, seq: header.baseSeq ?? NaN, unsealed };
}
