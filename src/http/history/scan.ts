import { newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import { type Block, BlockError, type JournalIndex } from "../../journal/mod.ts";
import { type HistoryPosition, passedThrough, positionAt } from "./position.ts";
import type { HistoryTurns } from "./turns.ts";
import type { WantedFrames } from "./wanted.ts";

/** The part of the journal index that a history needs. */
export type HistoryIndex = Pick<JournalIndex, "epochBlocks" | "epochOrder" | "framesAtMost" | "noteDamaged">;

/** Frames that are read before the time is checked. */
const FRAMES_PER_TIME_CHECK = 256;

/** Which frames of a journal are read. */
export interface HistoryScan {
  wanted: WantedFrames;
  histories: HistoryTurns;
  /** The last frame that is read; undefined: the last there is. */
  through?: HistoryPosition | undefined;
  /**
   * Gets each wanted frame and its position; both objects are reused. Returns true when the reader has enough to send.
   */
  take: (frame: StoredFrame, position: Readonly<HistoryPosition>) => boolean | void;
}

/** Reads the wanted frames in order. Yields after each block, and when `take` returns true, so that the reader can send or stop. */
export async function* scanHistory(
  index: HistoryIndex,
  { wanted, histories, through, take }: HistoryScan,
): AsyncGenerator<void, void> {
  const frame = newStoredFrame();
  const { fromUs, toUs, after } = wanted.range;
  const order = index.epochOrder();
  let sliceEndMs = await histories.slice();
  const skipped = wanted.hasInterval || !after ? undefined : { epochWord: after.epochWord, seq: after.at };
  for await (const located of index.epochBlocks({ fromUs, toUs, after: skipped })) {
    const { block } = located;
    wanted.enter(block);
    const first = after ? passedThrough(located, { position: after, order }) : -Infinity;
    const last = through ? passedThrough(located, { position: through, order }) : Infinity;
    const cursor = block.frames();
    const position = { epochWord: located.epochWord, at: 0, blockUs: block.baseTimeUs };
    while (!wanted.isFull && nextFrame(cursor, { frame, index, block })) {
      const i = cursor.index - 1;
      position.at = positionAt(located, { seq: frame.seq, index: i });
      if (position.at > last) return;
      let isTaken = false;
      // Frames before the start only determine which later frames are the first of their interval.
      if (position.at > first) isTaken = wanted.takes(frame, i);
      else if (wanted.hasInterval) wanted.matches(frame, i);
      const isFilled = isTaken && take(frame, position) === true;
      if (!isTaken && cursor.index % FRAMES_PER_TIME_CHECK !== 0) continue;
      // The reader compresses and writes within this slice.
      if (isFilled) yield;
      if (performance.now() >= sliceEndMs) sliceEndMs = await histories.slice();
    }
    yield;
    if (wanted.isFull) return;
  }
}

/** Reads the next frame. A block whose checksum is right but whose frames cannot be parsed ends at the first bad one. */
function nextFrame(
  cursor: ReturnType<Block["frames"]>,
  { frame, index, block }: { frame: StoredFrame; index: HistoryIndex; block: Block },
): boolean {
  try {
    return cursor.next(frame);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    index.noteDamaged(block, error);
    return false;
  }
}
