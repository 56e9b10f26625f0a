import { turn } from "../../base/mod.ts";
import { newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import type { Block } from "../block/block.ts";
import { readUnwritten } from "../block/reader.ts";
import { BlockError } from "../errors.ts";
import { epochWordOf } from "../file/layout.ts";
import type { JournalIndex } from "../index/journal_index.ts";
import { SeenBlocks } from "../index/file_index.ts";
import { DIGEST_WINDOW, FrameSum, type WindowDigest, WindowDigests } from "./window_digest.ts";

/** Frames hashed before yielding to other tasks: less than a millisecond. */
const FRAMES_PER_TURN = 8192;

/** A recorded epoch. */
interface Recorded {
  index: Pick<JournalIndex, "locations" | "reader">;
  /** 16 bytes that identify the epoch. */
  epoch: Uint8Array;
}

/**
 * Restores the digests of a recording that ends with `lastSeq`. The newest block with digests has those of the frames
 * before it; at most one window of frames is read.
 */
export async function digestsThrough(
  lastSeq: number,
  { index, epoch }: { index: Pick<JournalIndex, "blocks">; epoch: Uint8Array },
): Promise<WindowDigests> {
  let digests = new WindowDigests();
  if (lastSeq === 0) return digests;
  const fromSeq = Math.max(1, lastSeq - DIGEST_WINDOW + 1);
  for await (const block of index.blocks({ fromSeq, epochWord: epochWordOf(epoch) })) {
    if (!isOfEpoch(block, epoch)) continue;
    const { metadata } = block;
    if (metadata.digests) digests = new WindowDigests(metadata.digests);
    await eachFrame(block, (frame) => digests.add(frame.seq, frame));
  }
  return digests;
}

/** Digest of the recorded frames from `firstSeq` through `lastSeq`; undefined if one of them cannot be read. */
export async function readDigest(
  { firstSeq, lastSeq }: Pick<WindowDigest, "firstSeq" | "lastSeq">,
  { index, epoch }: Recorded,
): Promise<WindowDigest | undefined> {
  const sum = new FrameSum();
  let count = 0;
  for await (const block of blocksBetween({ firstSeq, lastSeq }, { index, epoch })) {
    await eachFrame(block, (frame) => {
      if (frame.seq < firstSeq || frame.seq > lastSeq) return;
      sum.add(frame.seq, frame);
      count++;
    });
    if (count > lastSeq - firstSeq) return { firstSeq, lastSeq, hash: sum.hash };
  }
  return undefined;
}

/**
 * Digest of the last run of consecutive readable frames from `firstSeq` through `lastSeq`; undefined if none can be read.
 */
export async function readNewestDigest(
  { firstSeq, lastSeq }: Pick<WindowDigest, "firstSeq" | "lastSeq">,
  { index, epoch }: Recorded,
): Promise<WindowDigest | undefined> {
  const sum = new FrameSum();
  let [first, next] = [0, 0];
  for await (const block of blocksBetween({ firstSeq, lastSeq }, { index, epoch })) {
    await eachFrame(block, (frame) => {
      const { seq } = frame;
      if (seq < Math.max(firstSeq, next) || seq > lastSeq) return;
      if (seq !== next) {
        sum.set();
        first = seq;
      }
      sum.add(seq, frame);
      next = seq + 1;
    });
  }
  return next === 0 ? undefined : { firstSeq: first, lastSeq: next - 1, hash: sum.hash };
}

/** First number of the newest recorded block that begins below `seq` and may hold `oldest` or higher; undefined if none. */
export async function newestBlockBelow(
  seq: number,
  { index, epoch, oldest }: Recorded & { oldest: number },
): Promise<number | undefined> {
  const { locations, unwritten } = await index.locations({ fromSeq: oldest, epochWord: epochWordOf(epoch) });
  let newest = -1;
  const consider = (first: number) => {
    if (first < seq) newest = Math.max(newest, first);
  };
  for (const location of locations) consider(location.seq);
  for await (const { block: { baseSeq, metadata } } of readUnwritten(unwritten)) {
    if (baseSeq !== undefined && metadata.epoch?.toHex() === epoch.toHex()) consider(baseSeq);
  }
  return newest < 1 ? undefined : newest;
}

/** Blocks that may hold some of the numbers, no number twice. Skips unreadable blocks. */
async function* blocksBetween(
  { firstSeq, lastSeq }: Pick<WindowDigest, "firstSeq" | "lastSeq">,
  { index, epoch }: Recorded,
): AsyncGenerator<Block> {
  const epochWord = epochWordOf(epoch);
  const { locations, unwritten } = await index.locations({ fromSeq: firstSeq, epochWord });
  const seen = new SeenBlocks();
  using reader = index.reader();
  for (const location of locations) {
    if (location.seq > lastSeq) continue;
    const block = await reader.tryRead(location.path, location);
    if (block && isOfEpoch(block, epoch)) yield* seen.fresh(block, epochWord);
  }
  for await (const { block } of readUnwritten(unwritten)) {
    if (block.metadata.epoch && isOfEpoch(block, epoch)) yield* seen.fresh(block, epochWord);
  }
}

/** True unless the block names another epoch. Blocks of other software name none: the file's header was checked. */
function isOfEpoch({ metadata: { epoch: own } }: Block, epoch: Uint8Array): boolean {
  return own === undefined || own.toHex() === epoch.toHex();
}

/** Calls `visit` for each frame, up to the first unreadable one. */
async function eachFrame(block: Block, visit: (frame: StoredFrame) => void): Promise<void> {
  const frame = newStoredFrame();
  const cursor = block.frames();
  try {
    for (let i = 1; cursor.next(frame); i++) {
      visit(frame);
      if (i % FRAMES_PER_TURN === 0) await turn();
    }
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
  }
}
