import { beginsWithin, type BlockRange, type BlockTable, type TableEnd } from "../index/block_table.ts";
import type { FileHeader } from "./layout.ts";

/** A file as the index knows it. */
export interface FileEntry {
  readonly path: string;
  readonly name: string;
  readonly header: FileHeader;
  /** Time and number of its first block; the number is NaN in version 1. */
  readonly firstTimeUs: number;
  readonly firstSeq: number;
  /** Its size; an index that ends it later may be missing. */
  bytes: number;
  /** Undefined until it is needed, and again when it has not been for long. */
  table: BlockTable | undefined;
  /** Facts from a table that is no longer in memory. */
  bounds: Pick<BlockTable, "minTimeUs" | "minSeq" | "isAscending"> | undefined;
  /** True for files that the writer told of: their last block is no ruin. */
  isWritten: boolean;
  isGone: boolean;
}

/** What may be in a file, as far as it is known. */
export interface FileSpan {
  file: FileEntry;
  lowUs: number;
  lowSeq: number;
  /** Bounds of its last blocks. */
  end: TableEnd;
}

/** Files of blocks that were fetched, newest hole first, begin so: their numbers run in no order. */
export const UNORDERED_PREFIX = "backfill-";

/**
 * How much later than another a file begins that is not of a machine without a clock of its own: such a machine comes back
 * at a time that it wrote down, and does so again when it is switched on several times.
 */
const OWN_TIME_US = 55 * 60_000_000;
/** Files that are looked at for two of a time of their own; behind so many the clock is trusted. */
const LATER_FILES = 64;

/** Less than, equal, greater; unlike a difference this holds for the infinite, too. */
export function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** By first block's time, then number. */
export function byFirstBlock(a: FileEntry, b: FileEntry): number {
  return compareNumbers(a.firstTimeUs, b.firstTimeUs) || compareNumbers(a.firstSeq, b.firstSeq);
}

/**
 * Files of each run of numbers in the order in which they were written: by number where an epoch is told, else by name,
 * as older software begins at 1 in every run.
 */
export function writtenOrder(files: Iterable<FileEntry>): FileEntry[][] {
  const runs = new Map<string, FileEntry[]>();
  for (const file of files) {
    const word = file.header.epochWord;
    const key = file.name.startsWith(UNORDERED_PREFIX) ? file.name : `${word}`;
    const run = runs.get(key);
    if (run) run.push(file);
    else runs.set(key, [file]);
  }
  for (const run of runs.values()) {
    const hasEpoch = run[0]?.header.epochWord !== 0;
    run.sort((a, b) => hasEpoch ? compareNumbers(a.firstSeq, b.firstSeq) : a.name < b.name ? -1 : 1);
  }
  return [...runs.values()];
}

/**
 * What each file may hold, from its first block and those of the files behind it: the clock may step back between files
 * and, where blocks were looked at, within them. Where nothing is sure, the file has to be looked at.
 */
export function* spansOf(run: readonly FileEntry[]): Generator<FileSpan> {
  for (const [i, file] of run.entries()) {
    const [next, second] = [run[i + 1], run[i + 2]];
    const bounds = file.table ?? file.bounds;
    const ascends = next !== undefined && next.firstTimeUs >= file.firstTimeUs;
    const isUnordered = file.name.startsWith(UNORDERED_PREFIX);
    // Two files may share numbers: so it is not the next one that counts.
    yield {
      file,
      lowUs: bounds?.minTimeUs ?? (ascends ? file.firstTimeUs : -Infinity),
      lowSeq: bounds?.minSeq ?? (isUnordered ? -Infinity : file.firstSeq),
      end: {
        timeUs: bounds?.isAscending ?? true ? endsByUs(run, i) : Infinity,
        seq: next !== undefined && second !== undefined && next.firstSeq > file.firstSeq &&
            second.firstSeq > next.firstSeq
          ? second.firstSeq - 1
          : Infinity,
      },
    };
  }
}

/**
 * When a file has surely ended: a clock that stepped back a little does not show, so it is not the next file that counts.
 * Infinity where that cannot be told.
 */
function endsByUs(run: readonly FileEntry[], i: number): number {
  let [beforeUs, ownUs, ownTimes] = [run[i]?.firstTimeUs ?? NaN, run[i]?.firstTimeUs ?? NaN, 0];
  for (const [places, { firstTimeUs }] of run.slice(i + 1, i + 1 + LATER_FILES).entries()) {
    if (!(firstTimeUs >= beforeUs)) return Infinity;
    beforeUs = firstTimeUs;
    if (firstTimeUs - ownUs >= OWN_TIME_US) [ownUs, ownTimes] = [firstTimeUs, ownTimes + 1];
    if (ownTimes === 2 || places + 1 === LATER_FILES) return firstTimeUs;
  }
  return Infinity;
}

/** True when a file may hold wanted frames. */
export function mayHold({ file, lowUs, lowSeq, end }: FileSpan, range: BlockRange): boolean {
  const { fromSeq, epochWord } = range;
  const { fromUs, toUs } = beginsWithin(range);
  if (lowUs > toUs || end.timeUs < fromUs) return false;
  if (fromSeq !== undefined && (Number.isNaN(lowSeq) || end.seq < fromSeq)) return false;
  return epochWord === undefined || file.header.epochWord === epochWord;
}
