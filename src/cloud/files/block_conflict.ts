import { newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import { type Block, BlockError, BlockReader, epochWordOf, type JournalIndex, readBlock } from "../../journal/mod.ts";
import type { CheckedBlock } from "./block_check.ts";

/**
 * The lowest number of a block for which the journal has a different frame; undefined: there is none. A conflict reveals two
 * machines with the same epoch, because a boat assigns each number once.
 *
 * @param options.epoch 16 bytes
 */
export async function findConflict(
  { block, seqs }: CheckedBlock,
  { index, epoch }: { index: JournalIndex; epoch: Uint8Array<ArrayBuffer> },
): Promise<number | undefined> {
  const contents = new Map<number, string>();
  for (const frame of framesOf(block)) contents.set(frame.seq, contentOf(frame));
  let lowest: number | undefined;
  for await (const stored of blocksUpTo(seqs, { index, epoch })) {
    for (const frame of framesOf(stored)) {
      const content = contents.get(frame.seq);
      if (content === undefined || content === contentOf(frame)) continue;
      lowest = Math.min(lowest ?? Infinity, frame.seq);
      break;
    }
  }
  return lowest;
}

/** Blocks that may have some of the numbers, including those not written yet. Unreadable blocks are skipped. */
async function* blocksUpTo(
  { start, end }: CheckedBlock["seqs"],
  { index, epoch }: { index: JournalIndex; epoch: Uint8Array<ArrayBuffer> },
): AsyncGenerator<Block> {
  const { places, unwritten } = await index.places({ fromSeq: start, epochWord: epochWordOf(epoch) });
  using reader = new BlockReader();
  for (const place of places) {
    if (place.seq >= end) continue;
    try {
      yield await reader.read(place.path, place);
    } catch (error) {
      if (!(error instanceof BlockError || error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  for (const bytes of unwritten) {
    const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    if (block.notes.epoch?.toHex() === epoch.toHex()) yield block;
  }
}

/** The frames of a block; each is the same object. */
function* framesOf(block: Block): Generator<StoredFrame> {
  const frame = newStoredFrame();
  for (const frames = block.frames(); frames.next(frame);) yield frame;
}

function contentOf({ timeUs, id, bus, data, offset, length }: StoredFrame): string {
  return `${timeUs} ${bus} ${id} ${data.subarray(offset, offset + length).toHex()}`;
}
