import { turn } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { type BlockError, type JournalIndex, SourceUnavailableError } from "../../journal/mod.ts";
import { type FrameClock, replayBlock } from "../../past/mod.ts";

/** Maximum numbers read when a replica starts: 20 minutes of 200 frames a second, which takes a third of a second. */
export const MAX_WARM_UP_FRAMES = 262_144;
/** Maximum time that reading blocks the event loop. */
const SLICE_MS = 4;
/** Frames between two checks of the time; a power of two. */
const CHECK_EVERY = 64;

/** Options of {@linkcode warmUpFromJournal}. */
export interface WarmUpOptions {
  index: JournalIndex;
  /** First four bytes of the epoch. */
  epochWord: number;
  /** The broker knows the frames up to this number already. */
  knownThrough: number;
  /** Last number to read. */
  head: number;
  time: FrameClock;
}

/**
 * Fills the broker's device table and last values from the newest {@linkcode MAX_WARM_UP_FRAMES} numbers of the journal, in
 * time slices. Damaged blocks are skipped. What cannot be read now is left out: the boat sends its values again.
 *
 * @returns number of frames read
 */
export async function warmUpFromJournal(broker: Broker, options: WarmUpOptions): Promise<number> {
  const { index, epochWord, knownThrough, head, time } = options;
  const fromSeq = Math.max(knownThrough, head - MAX_WARM_UP_FRAMES) + 1;
  let count = 0;
  if (fromSeq > head) return count;
  const progress = { throughSeq: knownThrough, isWhole: true };
  const replay = { progress, throughSeq: head, monoMsOf: (timeUs: number) => time.advance(timeUs / 1000) };
  try {
    for await (const block of index.blocks({ fromSeq, epochWord })) {
      if ((block.baseSeq ?? 0) > head) break;
      let sliceEndMs = performance.now() + SLICE_MS;
      const damaged = (error: BlockError) => index.noteDamaged(block, error);
      for (const _ of replayBlock(broker, block, { ...replay, damaged })) {
        if ((++count & (CHECK_EVERY - 1)) !== 0 || performance.now() < sliceEndMs) continue;
        await turn();
        sliceEndMs = performance.now() + SLICE_MS;
      }
    }
  } catch (error) {
    if (!(error instanceof SourceUnavailableError)) throw error;
  }
  return count;
}
