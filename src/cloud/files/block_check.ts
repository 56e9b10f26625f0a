import { newStoredFrame } from "../../frame/mod.ts";
import {
  type Block,
  BlockError,
  compress,
  decompress,
  epochWordOf,
  MAX_BLOCK_BYTES,
  MIN_BLOCK_BYTES,
  readBlock,
  type SealedBlock,
} from "../../journal/mod.ts";
import { type BackfillBlock, MAX_FRAME_DATA_BYTES, type Range } from "../../replication/mod.ts";

/** What a block is held against, besides what its message says. */
export interface BlockCheckOptions {
  /** 16 bytes that the block must name as its run of numbers; undefined: a peer's boat, whose blocks name none. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Largest block that is unpacked, default {@linkcode MAX_BLOCK_BYTES}. */
  maxBlockBytes?: number;
}

/** A block that is what its message says, read to its last frame. */
export interface CheckedBlock {
  /** Its frames and notes. */
  block: Block;
  /** The whole block, unpacked. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Numbers of its frames. */
  seqs: Range;
  /** Time of the first frame, microseconds since 1970. */
  firstTimeUs: number;
  /** Latest time of a frame, microseconds since 1970. */
  latestTimeUs: number;
  /** As zstd, where it came so. */
  packed: Uint8Array<ArrayBuffer> | undefined;
}

/** A checked block, or why it is not taken, for people. */
export type BlockVerdict = ({ ok: true } & CheckedBlock) | { ok: false; reason: string };

/** Older readers pass over what lies in more bytes than twice the block's. */
export const MAX_PACKED_RATIO = 2;

/** What is wrong with a block, in words for the boat's people. */
class Refusal extends Error {}

/** Reads a block that a boat has sent, believing nothing of it: neither the message nor the bytes. Never throws. */
export function checkBlock(message: BackfillBlock, options: BlockCheckOptions): BlockVerdict {
  try {
    const bytes = unpack(message, options.maxBlockBytes ?? MAX_BLOCK_BYTES);
    const block = readBlock(bytes, { version: 2, blockBytes: message.blockSize });
    compareWithMessage(block, message);
    compareEpoch(block, options.epoch);
    const latestTimeUs = latestTimeOf(block);
    const { baseSeq: start, baseTimeUs: firstTimeUs, frameCount } = message;
    const packed = message.compressed ? owned(message.data) : undefined;
    return { ok: true, block, bytes, seqs: { start, end: start + frameCount }, firstTimeUs, latestTimeUs, packed };
  } catch (error) {
    if (!(error instanceof BlockError || error instanceof Refusal)) throw error;
    return { ok: false, reason: error.message };
  }
}

/**
 * A checked block as a journal file takes it. A block that came as zstd lies there with the very bytes that it had on the
 * boat.
 *
 * @param options.epoch that of the file
 * @param options.compression that of the file
 */
export function storedForm(
  { bytes, packed, seqs, firstTimeUs, latestTimeUs }: CheckedBlock,
  { epoch, compression }: { epoch: Uint8Array<ArrayBuffer>; compression: "none" | "zstd" },
): { sealed: SealedBlock; packed: Uint8Array<ArrayBuffer> } {
  const epochWord = epochWordOf(epoch);
  return {
    sealed: { bytes, firstSeq: seqs.start, lastSeq: seqs.end - 1, firstTimeUs, latestTimeUs, epochWord },
    packed: compression === "zstd" && packed ? packed : compress(bytes, compression),
  };
}

function unpack({ data, compressed, blockSize }: BackfillBlock, maxBlockBytes: number): Uint8Array<ArrayBuffer> {
  if (blockSize < MIN_BLOCK_BYTES || blockSize > maxBlockBytes || !Number.isInteger(Math.log2(blockSize))) {
    throw new Refusal(
      `A block of ${blockSize} bytes is not taken: powers of two from ${MIN_BLOCK_BYTES} to ${maxBlockBytes} are`,
    );
  }
  if (data.length > MAX_PACKED_RATIO * blockSize) {
    throw new Refusal(`The block lies in ${data.length} bytes, more than ${MAX_PACKED_RATIO} times its own`);
  }
  return owned(decompress(data, { compression: compressed ? "zstd" : "none", blockBytes: blockSize }));
}

function compareWithMessage(block: Block, { baseSeq, baseTimeUs, frameCount }: BackfillBlock): void {
  if (block.frameCount === 0) throw new Refusal("The block has no frames");
  // 0 stands for frames that have no number.
  if (block.baseSeq === 0) throw new Refusal("The block begins with number 0, which no frame has");
  const said: [what: string, said: number, found: number | undefined][] = [
    ["begin with number", baseSeq, block.baseSeq],
    ["begin at time", baseTimeUs, block.baseTimeUs],
    ["count as frames", frameCount, block.frameCount],
  ];
  for (const [what, inMessage, inBlock] of said) {
    if (inMessage !== inBlock) throw new Refusal(`The block is said to ${what} ${inMessage}, and has ${inBlock}`);
  }
}

function compareEpoch(block: Block, epoch: Uint8Array<ArrayBuffer> | undefined): void {
  const [wanted, found] = [epoch?.toHex(), block.notes.epoch?.toHex()];
  if (wanted === found) return;
  throw new Refusal(`The block is of epoch ${found ?? "unknown"}, not of ${wanted ?? "a boat that tells none"}`);
}

/** Reads all frames, as a checksum says that the bytes are those of the writer, not that they make sense; the latest time. */
function latestTimeOf(block: Block): number {
  const frame = newStoredFrame();
  let latestUs = block.baseTimeUs;
  for (const frames = block.frames(); frames.next(frame);) {
    if (frame.length > MAX_FRAME_DATA_BYTES) {
      throw new Refusal(`Frame ${frame.seq} has ${frame.length} bytes, more than ${MAX_FRAME_DATA_BYTES}`);
    }
    if (frame.timeUs > latestUs) latestUs = frame.timeUs;
  }
  return latestUs;
}

/** Bytes that stay as they are when the buffer of the message they came in goes away or is shared. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && length === buffer.byteLength;
  return isWhole ? new Uint8Array(buffer, byteOffset, length) : new Uint8Array(bytes);
}
