import { type FileIndex, type IndexedBlock, readFileIndex, readingAhead, storedBytes } from "../index/file_index.ts";
import { FILE_HEADER_BYTES, parseFileHeader } from "./layout.ts";
import { type BlockLocation, readFileAt } from "./source.ts";

/** Size of the read buffer while locating blocks, bytes: headers of compressed blocks are close together. */
const WINDOW_BYTES = 262_144;

/** A journal file on disk, for reading from start to end. */
export interface BlockFile {
  /** Path. */
  path: string;
  /** Size, bytes. */
  bytes: number;
  /** Header, headers of its blocks, and state of its end. */
  index: FileIndex;
  /** Locations of its blocks, in file order. */
  blocks: readonly BlockLocation[];
  /** Only of a write-ahead log: name of the `.lpj` file that the next start writes its frames into. */
  sealsInto?: string;
}

/**
 * Locates the blocks of a file without reading them.
 *
 * @throws {BlockError} the file is not a journal
 * @throws {Deno.errors.NotFound} the file does not exist
 */
export async function openBlockFile(path: string): Promise<BlockFile> {
  using file = await Deno.open(path, { read: true });
  const { bytes, index } = await findBlocks(file);
  return { path, bytes, index, blocks: index.blocks.map(blockLocation) };
}

/** As {@linkcode openBlockFile}, for an open file. */
export async function findBlocks(file: Deno.FsFile): Promise<Pick<BlockFile, "bytes" | "index">> {
  const { size, isFile } = await file.stat();
  // Reading a pipe would block.
  if (!isFile) throw new TypeError("it is not a regular file");
  const read = (offset: number, length: number) => readFileAt(file, { offset, length });
  const { compression } = parseFileHeader(await read(0, FILE_HEADER_BYTES));
  const index = await readFileIndex(compression === "none" ? read : readingAhead(read, WINDOW_BYTES), size);
  return { bytes: size, index };
}

/** Location of a block, for {@linkcode BlockReader.read}. */
export function blockLocation({ offset, header, unsealed }: IndexedBlock): BlockLocation {
  return { offset, bytes: storedBytes(header), timeUs: header.baseTimeUs, seq: header.baseSeq ?? NaN, unsealed };
}
