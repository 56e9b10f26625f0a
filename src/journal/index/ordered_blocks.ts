import type { Logger } from "../../base/mod.ts";
import { type BlockFile, openBlockFile } from "../file/block_file.ts";
import { compareNumbers } from "../file/order.ts";
import type { BlockLocation } from "../file/source.ts";
import { type JournalDirectory, readJournalDirectory } from "../journal_directory.ts";
import { BlockTable } from "./block_table.ts";
import { JournalIndex } from "./journal_index.ts";

/** Times of frames, inclusive, microseconds since 1970; left out: all. */
export interface TimeSpan {
  /** Earliest time. */
  fromUs?: number | undefined;
  /** Latest time. */
  toUs?: number | undefined;
}

/** A block of one of several files. */
export interface OrderedBlock extends BlockLocation {
  /** Path of the file. */
  path: string;
  /** First four bytes of its epoch; 0 if its file names none. */
  epochWord: number;
}

/**
 * Opens the files of a journal directory that may hold frames of a range, and its write-ahead logs, without locking or
 * changing anything.
 *
 * @param options.log gets warnings about files that cannot be read, which are left out
 * @throws {Deno.errors.NotFound} the directory does not exist, or has no journal
 */
export async function openJournalDirectory(
  directory: string,
  { log, ...range }: { log: Logger } & TimeSpan,
): Promise<{ files: BlockFile[] } & Pick<JournalDirectory, "wals">> {
  // The logs first: what leaves them meanwhile is in a file.
  const { wals } = await readJournalDirectory(directory, { log });
  const index = await JournalIndex.open(directory, { log });
  const files: BlockFile[] = [];
  for (const { path } of index.filesIn(range)) {
    try {
      files.push(await openBlockFile(path));
    } catch (error) {
      // Retention has deleted it.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return { files, wals };
}

/**
 * The blocks of files that may hold frames of a range. Epochs are in the
 * order of their first blocks, their blocks in the order of numbers; without an epoch, in the given order. Blocks of several
 * files may share numbers: see {@linkcode SeenBlocks}.
 */
export function orderBlocks(
  files: readonly BlockFile[],
  range: TimeSpan = {},
): OrderedBlock[] {
  const epochs = Map.groupBy(files, ({ index }) => index.header.epochWord);
  const inOrder = [...epochs].map(([epochWord, own]) => {
    const startUs = own.reduce((first, { blocks }) => Math.min(first, blocks[0]?.timeUs ?? Infinity), Infinity);
    const blocks = own.flatMap((file) =>
      Array.from(blocksWithin(file, range), (block): OrderedBlock => ({ ...block, path: file.path, epochWord }))
    );
    if (epochWord !== 0) blocks.sort((a, b) => compareNumbers(a.seq, b.seq) || compareNumbers(a.timeUs, b.timeUs));
    return { startUs, blocks };
  });
  return inOrder.sort((a, b) => compareNumbers(a.startUs, b.startUs)).flatMap(({ blocks }) => blocks);
}

function blocksWithin(file: BlockFile, range: TimeSpan) {
  // Those of a write-ahead log are few, and in memory.
  if (file.sealsInto !== undefined) return file.blocks;
  const table = new BlockTable();
  for (const block of file.blocks) table.add(block);
  return table.select(range, { timeUs: Infinity, seq: Infinity });
}
