import { newStoredFrame } from "../frame/mod.ts";
import { type Block, BlockError, type BlockRange, type EpochBlock, type JournalIndex } from "../journal/mod.ts";
import type { SeriesFold } from "./fold.ts";
import { Slices, type Turns } from "./slices.ts";

/** The part of a journal's index that series are read from. */
export type SeriesIndex =
  & Pick<JournalIndex, "epochBlocks" | "framesAtMost" | "noteDamaged" | "reader">
  & Partial<Pick<JournalIndex, "clock">>;

/** A time range; bounds are inclusive, microseconds since 1970. */
export interface TimeRange {
  fromUs: number;
  toUs: number;
}

/** Frames that are read before the time is checked. */
const FRAMES_PER_TIME_CHECK = 256;

/** Receives the frames of a journal, block by block. */
export type FrameFold = Pick<SeriesFold, "enter" | "add">;

/** Dependencies of reading. */
export interface ScanOptions {
  fold: FrameFold;
  turns: Turns;
  /** Aborted when the client disconnects: ends reading. */
  signal: AbortSignal;
}

/**
 * Adds the values of all frames in a time range.
 *
 * @throws the reason of the signal
 * @throws {SeriesCountError} there are too many series or buckets
 */
export async function scanRange(
  index: SeriesIndex,
  range: TimeRange & BlockRange,
  options: ScanOptions,
): Promise<void> {
  const slices = new Slices(options);
  for await (const { block } of index.epochBlocks({ ...range, isCorrected: true })) {
    await scanBlock(block, { ...options, index, slices, ranges: [range] });
  }
}

/** Adds the values of a block's frames in any of the ranges. Returns the earliest and latest time of all frames. */
export async function scanBlock(
  block: EpochBlock["block"],
  { fold, index, slices, ranges }: {
    fold: FrameFold;
    index: Pick<SeriesIndex, "noteDamaged">;
    slices: Slices;
    ranges: readonly TimeRange[];
  },
): Promise<TimeRange> {
  const frame = newStoredFrame();
  const cursor = block.frames();
  const times = { fromUs: Infinity, toUs: -Infinity };
  await slices.pause();
  fold.enter(block);
  while (nextFrame(cursor, { frame, index, block })) {
    const { timeUs } = frame;
    if (timeUs < times.fromUs) times.fromUs = timeUs;
    if (timeUs > times.toUs) times.toUs = timeUs;
    if (ranges.some(({ fromUs, toUs }) => timeUs >= fromUs && timeUs <= toUs)) fold.add(frame, cursor.index - 1);
    if (cursor.index % FRAMES_PER_TIME_CHECK === 0) await slices.pause();
  }
  return times;
}

/** Reads the next frame. A block whose checksum is right but whose frames cannot be parsed ends at the first bad one. */
function nextFrame(
  cursor: ReturnType<Block["frames"]>,
  { frame, index, block }: {
    frame: ReturnType<typeof newStoredFrame>;
    index: Pick<SeriesIndex, "noteDamaged">;
    block: Block;
  },
): boolean {
  try {
    return cursor.next(frame);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    index.noteDamaged(block, error);
    return false;
  }
}
