import { turn } from "../../base/mod.ts";
import { newStoredFrame } from "../../frame/mod.ts";
import { type Block, readBlock } from "../block/block.ts";
import { BlockReader } from "../block/reader.ts";
import { BlockError } from "../errors.ts";
import { epochWordOf } from "../file/layout.ts";
import type { JournalIndex } from "../index/journal_index.ts";
import { SeenBlocks } from "../index/seen_blocks.ts";
import { DIGEST_WINDOW, FrameSum, type WindowDigest, WindowDigests } from "./window_digest.ts";

/** Frames that are hashed before others get their turn: less than a millisecond's worth. */
const FRAMES_A_TURN = 8192;

/** Where frames are read. */
interface Recorded {
  index: Pick<JournalIndex, "places">;
  /** 16 bytes that name the epoch. */
  epoch: Uint8Array;
}

/**
 * The digests of a recording that ends with this number, to go on with. The newest block that keeps digests says those of
 * the frames before it; at most one window of frames is read.
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
    const { notes } = block;
    if (notes.digests) digests = new WindowDigests(notes.digests);
    await eachFrame(block, (frame) => digests.add(frame.seq, frame));
  }
  return digests;
}

/** The digest of the recorded frames from one number through another; undefined where one of them cannot be read. */
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

/** The digest of the newest recorded frames without a gap from one number through another; undefined: none can be read. */
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

/** The first number of the newest recorded block that begins below a number; undefined: none does. */
export async function newestBlockBelow(
  seq: number,
  { index, epoch, oldest }: Recorded & {
    /** The oldest number that is looked for. */
    oldest: number;
  },
): Promise<number | undefined> {
  const { places, unwritten } = await index.places({ fromSeq: oldest, epochWord: epochWordOf(epoch) });
  let newest = -1;
  const consider = (first: number) => {
    if (first < seq) newest = Math.max(newest, first);
  };
  for (const place of places) consider(place.seq);
  for (const bytes of unwritten) {
    await turn();
    const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    if (block.baseSeq !== undefined && block.notes.epoch?.toHex() === epoch.toHex()) consider(block.baseSeq);
  }
  return newest < 1 ? undefined : newest;
}

/** Blocks that may have some of the numbers; no number comes twice. Those that cannot be read are left out. */
async function* blocksBetween(
  { firstSeq, lastSeq }: Pick<WindowDigest, "firstSeq" | "lastSeq">,
  { index, epoch }: Recorded,
): AsyncGenerator<Block> {
  const epochWord = epochWordOf(epoch);
  const { places, unwritten } = await index.places({ fromSeq: firstSeq, epochWord });
  const seen = new SeenBlocks();
  using reader = new BlockReader();
  for (const place of places) {
    if (place.seq > lastSeq) continue;
    try {
      const block = await reader.read(place.path, place);
      if (isOfEpoch(block, epoch)) yield* seen.fresh(block, epochWord);
    } catch (error) {
      if (!(error instanceof BlockError || error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  for (const bytes of unwritten) {
    await turn();
    const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    if (block.notes.epoch && isOfEpoch(block, epoch)) yield* seen.fresh(block, epochWord);
  }
}

/** Blocks of other software name no epoch: there the file's header has to do. */
function isOfEpoch({ notes: { epoch: own } }: Block, epoch: Uint8Array): boolean {
  return own === undefined || own.toHex() === epoch.toHex();
}

/** Hands the frames over; those behind a frame that cannot be read are left out. */
async function eachFrame(block: Block, take: (frame: ReturnType<typeof newStoredFrame>) => void): Promise<void> {
  const frame = newStoredFrame();
  const cursor = block.frames();
  try {
    for (let i = 1; cursor.next(frame); i++) {
      take(frame);
      if (i % FRAMES_A_TURN === 0) await turn();
    }
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
  }
}
