import { newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import {
  type Block,
  BlockError,
  compress,
  decompress,
  epochWordOf,
  isSameHash,
  type JournalIndex,
  MAX_BLOCK_BYTES,
  MIN_BLOCK_BYTES,
  readBlock,
  readDigest,
  type SealedBlock,
  SourceUnavailableError,
  type WindowDigest,
} from "../../journal/mod.ts";
import { type BackfillBlock, MAX_DIGESTS, MAX_FRAME_DATA_BYTES, type Range } from "../../replication/mod.ts";

/** Options of {@linkcode checkBlock}. */
export interface BlockCheckOptions {
  /** 16 bytes that the block must name as its epoch; undefined: a peer's boat, whose blocks name none. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Maximum size of a block, uncompressed; default {@linkcode MAX_BLOCK_BYTES}. */
  maxBlockBytes?: number;
}

/** A block that agrees with its message and was read to its last frame. */
export interface CheckedBlock {
  /** Its frames and metadata. */
  block: Block;
  /** The whole block, uncompressed. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Numbers of its frames. */
  seqs: Range;
  /** Time of the first frame, microseconds since 1970. */
  firstTimeUs: number;
  /** Latest time of a frame, microseconds since 1970. */
  latestTimeUs: number;
  /** The zstd form in which it arrived; undefined: it arrived uncompressed. */
  packed: Uint8Array<ArrayBuffer> | undefined;
}

/** A checked block, or why it is refused, for people. */
export type BlockVerdict = ({ ok: true } & CheckedBlock) | { ok: false; reason: string };

/** Maximum compressed size, as a multiple of the block's: older readers skip larger ones. */
export const MAX_PACKED_RATIO = 2;

/** Why a block is refused, for people. */
class Refusal extends Error {}

/** Checks a block from a boat, without trusting its message or its bytes. Never throws. */
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
 * Converts a checked block for a journal file. A block that arrived as zstd keeps the bytes that it has on the boat.
 *
 * @param options.epoch epoch of the file
 * @param options.compression compression of the file
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
      `A block of ${blockSize} bytes is refused: expected a power of two from ${MIN_BLOCK_BYTES} to ${maxBlockBytes}`,
    );
  }
  if (data.length > MAX_PACKED_RATIO * blockSize) {
    throw new Refusal(`The block is compressed to ${data.length} bytes, more than ${MAX_PACKED_RATIO} times its size`);
  }
  return owned(decompress(data, { compression: compressed ? "zstd" : "none", blockBytes: blockSize }));
}

function compareWithMessage(block: Block, { baseSeq, baseTimeUs, frameCount }: BackfillBlock): void {
  if (block.frameCount === 0) throw new Refusal("The block has no frames");
  // Number 0 marks frames without a number.
  if (block.baseSeq === 0) throw new Refusal("The block begins with number 0, which no frame has");
  const members: [name: string, inMessage: number, inBlock: number | undefined][] = [
    ["first number", baseSeq, block.baseSeq],
    ["first time", baseTimeUs, block.baseTimeUs],
    ["frame count", frameCount, block.frameCount],
  ];
  for (const [name, inMessage, inBlock] of members) {
    if (inMessage !== inBlock) {
      throw new Refusal(`The ${name} of the block is ${inBlock}, but its message says ${inMessage}`);
    }
  }
}

function compareEpoch(block: Block, epoch: Uint8Array<ArrayBuffer> | undefined): void {
  const [wanted, found] = [epoch?.toHex(), block.metadata.epoch?.toHex()];
  if (wanted === found) return;
  throw new Refusal(`The block has epoch ${found ?? "unknown"}, expected ${wanted ?? "none"}`);
}

/** The latest time of a frame. Reads all frames, because a valid checksum does not mean valid content. */
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

/** The bytes themselves if they own their buffer, otherwise a copy. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && length === buffer.byteLength;
  return isWhole ? new Uint8Array(buffer, byteOffset, length) : new Uint8Array(bytes);
}

/** The stored frames of a boat's epoch. */
interface Stored {
  index: Pick<JournalIndex, "locations" | "reader">;
  /** Hex of 16 bytes. */
  epoch: string;
  /** True if all frames of the range are stored. */
  holds: (seqs: Range) => boolean;
}

/**
 * Result of comparing digests.
 *
 * - `same`: nothing differs; `throughSeq` is the highest number compared, 0: nothing was compared
 * - `different`: these frames differ
 */
export type ContentVerdict =
  | { kind: "same"; throughSeq: number }
  | { kind: "different"; firstSeq: number; lastSeq: number };

/**
 * Maximum windows whose frames are read for one comparison; each takes some 25 ms. The newest are compared first: a copy
 * differs in all frames after the copying. Later handshakes compare older ones.
 */
const MAX_READ = 4;
/** Longest time that a boat waits for the reading of a window, milliseconds; it is compared at a later handshake then. */
const READ_MS = 2000;

/** Compares a boat's digests with its stored frames. Caches the digests of stored frames. */
export class ContentCheck {
  /** By epoch and numbers; stored frames do not change. */
  readonly #known = new Map<string, Uint8Array>();

  /** Compares the newest {@linkcode MAX_DIGESTS} digests. Reading yields to the event loop. */
  async compare(digests: readonly WindowDigest[], { index, epoch, holds }: Stored): Promise<ContentVerdict> {
    let [throughSeq, read] = [0, 0];
    for (const digest of digests.slice(-MAX_DIGESTS).toReversed()) {
      const { firstSeq, lastSeq, hash } = digest;
      if (!holds({ start: firstSeq, end: lastSeq + 1 })) continue;
      const key = `${epoch} ${firstSeq} ${lastSeq}`;
      if (!this.#known.has(key) && read++ >= MAX_READ) continue;
      const stored = this.#known.get(key) ?? await this.#tryRead(key, { digest, index, epoch });
      // Boats are served while the store is away, too; their next handshake is compared.
      if (stored === "unavailable") break;
      if (stored === undefined) continue;
      if (!isSameHash(stored, hash)) return { kind: "different", firstSeq, lastSeq };
      throughSeq = Math.max(throughSeq, lastSeq);
    }
    return { kind: "same", throughSeq };
  }

  async #tryRead(
    key: string,
    stored: Pick<Stored, "index" | "epoch"> & { digest: WindowDigest },
  ): Promise<Uint8Array | "unavailable" | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<"unavailable">();
    const timer = setTimeout(() => resolve("unavailable"), READ_MS);
    const read = this.#read(key, stored).catch((error: unknown) => {
      if (error instanceof SourceUnavailableError) return "unavailable" as const;
      throw error;
    });
    return await Promise.race([read, late]).finally(() => clearTimeout(timer));
  }

  /** The digest of stored frames; undefined if a frame cannot be read. */
  async #read(
    key: string,
    { digest, index, epoch }: Pick<Stored, "index" | "epoch"> & { digest: WindowDigest },
  ): Promise<Uint8Array | undefined> {
    const found = await readDigest(digest, { index, epoch: Uint8Array.fromHex(epoch) });
    if (!found) return undefined;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= MAX_DIGESTS) this.#known.delete(oldest);
    this.#known.set(key, found.hash);
    return found.hash;
  }
}

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
  const { locations, unwritten } = await index.locations({ fromSeq: start, epochWord: epochWordOf(epoch) });
  using reader = index.reader();
  for (const place of locations) {
    if (place.seq >= end) continue;
    try {
      yield await reader.read(place.path, place);
    } catch (error) {
      const isUnreadable = error instanceof BlockError || error instanceof Deno.errors.NotFound;
      if (!isUnreadable && !(error instanceof SourceUnavailableError)) throw error;
    }
  }
  for (const bytes of unwritten) {
    const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    if (block.metadata.epoch?.toHex() === epoch.toHex()) yield block;
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
