import type { BlockPlace } from "./block_table.ts";
import { readFileAt, readFileIndex, storedBytes } from "./file_index.ts";

/** A file of a journal as it lies there, for who reads it from end to end. */
export interface BlockFile {
  path: string;
  /** Its blocks, in the order in which they lie in it. */
  blocks: readonly BlockPlace[];
  /** Places where a block should begin and none does. */
  damaged: number;
  /** Whether something that is no block stands behind the last one: it was cut off, or is still written. */
  isTorn: boolean;
}

/**
 * Looks where the blocks of a file are; none is read.
 *
 * @throws {BlockError} the file is no journal
 * @throws {Deno.errors.NotFound} there is none
 */
export async function openBlockFile(path: string): Promise<BlockFile> {
  using file = await Deno.open(path, { read: true });
  const { size } = await file.stat();
  const { blocks, damaged, state } = await readFileIndex(
    (offset, length) => readFileAt(file, { offset, length }),
    size,
  );
  return {
    path,
    blocks: blocks.map(({ offset, header }) => ({
      offset,
      bytes: storedBytes(header),
      timeUs: header.baseTimeUs,
      seq: header.baseSeq ?? NaN,
    })),
    damaged,
    isTorn: state === "torn",
  };
}
