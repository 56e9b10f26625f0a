import { basename } from "node:path";
import type { BlockLocation } from "./source.ts";
import type { FileBlockLocation, JournalFileInfo } from "../index/journal_index_types.ts";
import { type BlockRange, type BlockTable, startsWithin, type TableEnd } from "../index/block_table.ts";
import type { FileHeader } from "./layout.ts";

/** A file of the index. */
export interface FileEntry {
  readonly path: string;
  readonly name: string;
  readonly header: FileHeader;
  /** Time of its first block as recorded. */
  readonly recordedUs: number;
  /** Corrected time and number of its first block; the number is NaN in version 1. */
  firstTimeUs: number;
  readonly firstSeq: number;
  /** Size, bytes; without the index that ends the file later. */
  bytes: number;
  /** Undefined while it is not in memory. */
  table: BlockTable | undefined;
  /** Bounds of a table that is no longer in memory. */
  bounds: Pick<BlockTable, "minTimeUs" | "minSeq" | "isAscending"> | undefined;
  /** True if the writer of this process writes the file: its last block is not torn. */
  isWritten: boolean;
  /** Number of its last frame, if it has all from the first on: a file outside the directory. Undefined: unknown. */
  readonly lastSeq: number | undefined;
  isDeleted: boolean;
  /** Other files have its frames. */
  isReplaced: boolean;
}

/** Initial data of a file. */
export interface KnownFile extends Pick<FileEntry, "header" | "bytes" | "isWritten"> {
  first: { timeUs: number; seq: number };
  lastSeq?: number | undefined;
}

/** The entry of a file. */
export function newEntry(path: string, { first, lastSeq, ...known }: KnownFile): FileEntry {
  const rest = { lastSeq, table: undefined, bounds: undefined, isDeleted: false, isReplaced: false };
  const firstBlock = { recordedUs: first.timeUs, firstTimeUs: first.timeUs, firstSeq: first.seq };
  return { path, name: basename(path), ...known, ...firstBlock, ...rest };
}

/** A file as others see it. */
export function infoOf(
  { path, bytes, recordedUs, firstTimeUs, firstSeq, header, lastSeq }: FileEntry,
): JournalFileInfo {
  const seq = Number.isNaN(firstSeq) ? undefined : firstSeq;
  return {
    path,
    bytes,
    recordedUs,
    firstTimeUs,
    firstSeq: seq,
    epochWord: header.epochWord,
    isOutside: lastSeq !== undefined,
  };
}

/** Location of a block and its file. */
export interface Located extends BlockLocation {
  file: FileEntry;
}

/** The location of a block as others see it. */
export function inFile({ file: { path }, offset, bytes, seq }: Located): FileBlockLocation {
  return { path, offset, bytes, seq };
}

/** Bounds of a file's times and numbers, as far as they are known. */
export interface FileSpan {
  file: FileEntry;
  lowUs: number;
  lowSeq: number;
  /** Bounds of its last blocks. */
  end: TableEnd;
}

/** Prefix of files with backfilled blocks. They were requested newest first, so their numbers are not in order. */
export const UNORDERED_PREFIX = "backfill-";

/**
 * A file that begins this much later than another shows that the clock was really running in between. A machine without a
 * battery-backed clock resumes at a stored time, which is at most an hour old, and repeats it at each start.
 */
const CLOCK_RAN_US = 55 * 60_000_000;
/** Number of later files examined for two such steps; after that many the clock is trusted. */
const LATER_FILES = 64;

/** Compares numbers; unlike a difference it is also correct for infinite values. */
export function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Compares files by the time of the first block, then by its number. */
export function byFirstBlock(a: FileEntry, b: FileEntry): number {
  return compareNumbers(a.firstTimeUs, b.firstTimeUs) || compareNumbers(a.firstSeq, b.firstSeq);
}

/**
 * Groups files into runs of ascending numbers, in the order in which they were written: by number within an epoch, else by
 * name, because older software without epochs restarts at 1.
 */
export function writtenOrder(files: Iterable<FileEntry>): FileEntry[][] {
  const runs = new Map<string, FileEntry[]>();
  for (const file of files) {
    const word = file.header.epochWord;
    const key = file.name.startsWith(UNORDERED_PREFIX)
      ? file.name
      : `${word}${file.lastSeq === undefined ? "" : " exact"}`;
    const run = runs.get(key);
    if (run) run.push(file);
    else runs.set(key, [file]);
  }
  for (const run of runs.values()) {
    const hasEpoch = run[0]?.header.epochWord !== 0;
    run.sort((a, b) => hasEpoch ? compareNumbers(a.firstSeq, b.firstSeq) : a.name < b.name ? -1 : 1);
    dropContained(run);
  }
  return [...runs.values()];
}

/** Leaves out exact files whose numbers another one has as well. */
function dropContained(run: FileEntry[]): void {
  if (run[0]?.lastSeq === undefined) return;
  run.sort((a, b) => compareNumbers(a.firstSeq, b.firstSeq) || compareNumbers(lastOf(b), lastOf(a)));
  let last = 0;
  for (const file of run.splice(0)) {
    if (lastOf(file) <= last) continue;
    last = lastOf(file);
    run.push(file);
  }
}

function lastOf({ lastSeq = Infinity }: FileEntry): number {
  return lastSeq;
}

/** The runs of each epoch, in the order of the epochs' start times. */
export function epochsOf(
  runs: readonly FileEntry[][],
): { epochWord: number; runs: FileEntry[][]; startUs: number }[] {
  const epochs = Map.groupBy(runs, (run) => run[0]?.header.epochWord ?? 0);
  const inOrder = [...epochs].map(([epochWord, own]) => ({
    epochWord,
    runs: own,
    startUs: own.flat().reduce((first, { firstTimeUs }) => Math.min(first, firstTimeUs), Infinity),
  }));
  return inOrder.sort((a, b) => compareNumbers(a.startUs, b.startUs));
}

/**
 * Bounds of each file, from its first block, those of the following files, and its block table if known. The clock may step
 * back between files and within them. A bound that is not certain is infinite.
 */
export function* spansOf(run: readonly FileEntry[]): Generator<FileSpan> {
  for (const [i, file] of run.entries()) {
    const [next, second] = [run[i + 1], run[i + 2]];
    const bounds = file.table ?? file.bounds;
    const ascends = next !== undefined && next.firstTimeUs >= file.firstTimeUs;
    const isUnordered = file.name.startsWith(UNORDERED_PREFIX);
    // Consecutive files may share numbers: so the upper bound comes from the next but one.
    yield {
      file,
      lowUs: bounds?.minTimeUs ?? (ascends ? file.firstTimeUs : -Infinity),
      lowSeq: bounds?.minSeq ?? (isUnordered ? -Infinity : file.firstSeq),
      end: {
        timeUs: bounds?.isAscending ?? true ? endsByUs(run, i) : Infinity,
        seq: file.lastSeq ?? (next !== undefined && second !== undefined && next.firstSeq > file.firstSeq &&
            second.firstSeq > next.firstSeq
          ? second.firstSeq - 1
          : Infinity),
      },
    };
  }
}

/**
 * Time by which a file has certainly ended; Infinity if unknown. The start of the next file does not suffice: a small step
 * back of the clock would not show.
 */
function endsByUs(run: readonly FileEntry[], i: number): number {
  let [beforeUs, sinceUs, steps] = [run[i]?.firstTimeUs ?? NaN, run[i]?.firstTimeUs ?? NaN, 0];
  const lastSeq = run[i]?.lastSeq ?? -Infinity;
  for (const [index, { firstTimeUs, firstSeq }] of run.slice(i + 1, i + 1 + LATER_FILES).entries()) {
    // A file that overlaps with this one may begin at any time of it.
    if (firstSeq <= lastSeq) continue;
    if (!(firstTimeUs >= beforeUs)) return Infinity;
    beforeUs = firstTimeUs;
    if (firstTimeUs - sinceUs >= CLOCK_RAN_US) [sinceUs, steps] = [firstTimeUs, steps + 1];
    if (steps === 2 || index + 1 === LATER_FILES) return firstTimeUs;
  }
  return Infinity;
}

/** True when a file may hold wanted frames. */
export function mayHold({ file, lowUs, lowSeq, end }: FileSpan, range: BlockRange): boolean {
  const { fromSeq, epochWord } = range;
  const { fromUs, toUs } = startsWithin(range);
  if (lowUs > toUs || end.timeUs < fromUs) return false;
  if (fromSeq !== undefined && (Number.isNaN(lowSeq) || end.seq < fromSeq)) return false;
  return epochWord === undefined || file.header.epochWord === epochWord;
}

/** Lowest number of files in an epoch, given by its first four bytes; undefined if there is none. */
export function oldestSeqIn(files: Iterable<FileEntry>, epochWord: number): number | undefined {
  let oldest = Infinity;
  for (const { header, table, bounds, firstSeq } of files) {
    if (header.epochWord !== epochWord) continue;
    const seq = (table ?? bounds)?.minSeq ?? firstSeq;
    if (seq < oldest) oldest = seq;
  }
  return oldest === Infinity ? undefined : oldest;
}
