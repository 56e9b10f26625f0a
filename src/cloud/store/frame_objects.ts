import {
  BlockError,
  type BlockLocation,
  BlockReader,
  compress,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  epochWordOf,
  FILE_HEADER_BYTES,
  openBlockFile,
  readFileIndex,
  type SealedBlock,
  storedBytes,
} from "../../journal/mod.ts";
import { turn } from "../../base/mod.ts";
import { digestBoth, type Digests } from "../../object_store/mod.ts";
import { EPOCH_BYTES } from "../../replication/mod.ts";

/** An object is ended beyond this size, bytes. */
export const OBJECT_BYTES = 32 * 1024 * 1024;
const HASH_DIGITS = 16;

/** The content of an object: a journal file with consecutive frames. */
export interface FrameBody {
  first: number;
  last: number;
  /** Time of its first frame, microseconds since 1970. */
  timeUs: number;
  /** Bytes of each of its blocks, unpacked. */
  blockBytes: number;
  bytes: Uint8Array<ArrayBuffer>;
  digests: Digests;
  /** Part of its key. */
  hash: string;
  /** Where its blocks are. */
  blocks: readonly BlockLocation[];
}

/** A block as an object has it. */
export interface PackedBlock {
  first: number;
  last: number;
  timeUs: number;
  /** Bytes, unpacked. */
  blockBytes: number;
  parts: readonly Uint8Array<ArrayBuffer>[];
  bytes: number;
}

/**
 * The frames of a journal file as bodies of objects: one for each run of consecutive numbers, so that the key of an object
 * says exactly which frames it has. Blocks are checked before; damaged ones and those of another epoch are left out.
 *
 * @param options.epoch 16 bytes
 * @param options.leftOut called for each block that is left out
 * @throws {Deno.errors.NotFound} the file does not exist
 */
export async function* frameBodies(
  path: string,
  { epoch, objectBytes = OBJECT_BYTES, leftOut = () => {} }: {
    epoch: Uint8Array<ArrayBuffer>;
    objectBytes?: number;
    leftOut?: () => void;
  },
): AsyncGenerator<FrameBody> {
  using reader = new BlockReader();
  const { blocks, index: { header: { blockBytes }, damaged, state } } = await openBlockFile(path);
  if (damaged > 0 || state === "torn") leftOut();
  let run: PackedBlock[] = [];
  let bytes = 0;
  // Backfilled blocks are not in order.
  for (const location of blocks.toSorted((a, b) => a.seq - b.seq)) {
    const block = await packedBlock(reader, { path, location, epoch });
    // Packing and checking a block takes a millisecond.
    await turn();
    if (!block) leftOut();
    if (!block || block.last <= (run.at(-1)?.last ?? 0)) continue;
    const isNext = block.first === (run.at(-1)?.last ?? NaN) + 1;
    if (run.length > 0 && (!isNext || bytes + block.bytes > objectBytes)) {
      yield await bodyOf(run, { blockBytes, epoch });
      run = [];
      bytes = 0;
    }
    run.push(block);
    bytes += block.bytes;
  }
  if (run.length > 0) yield await bodyOf(run, { blockBytes, epoch });
}

async function packedBlock(
  reader: BlockReader,
  { path, location, epoch }: {
    path: string;
    location: Parameters<BlockReader["readStored"]>[1];
    epoch: Uint8Array;
  },
): Promise<PackedBlock | undefined> {
  try {
    const { block, bytes, packed } = await reader.readStored(path, location);
    const { baseSeq, baseTimeUs, frameCount, metadata } = block;
    if (baseSeq === undefined || frameCount === 0) return undefined;
    if (metadata.epoch && metadata.epoch.toHex() !== epoch.toHex()) return undefined;
    const data = packed?.slice() ?? compress(new Uint8Array(bytes), "zstd");
    return packedAs(
      { first: baseSeq, last: baseSeq + frameCount - 1, timeUs: baseTimeUs, blockBytes: bytes.length },
      data,
    );
  } catch (error) {
    if (error instanceof BlockError) return undefined;
    throw error;
  }
}

/** The bytes of a block with its header. @param data its frames, compressed with zstd */
function packedAs(block: Omit<PackedBlock, "parts" | "bytes">, data: Uint8Array<ArrayBuffer>): PackedBlock {
  const header = { baseTimeUs: block.timeUs, baseSeq: block.first, dictionaryBytes: 0, dataBytes: data.length };
  const parts = [encodeBlockHeader(header, { version: 2, compression: "zstd" }), data];
  return { ...block, parts, bytes: parts.reduce((sum, { length }) => sum + length, 0) };
}

/**
 * The frames of a sealed block as the body of an object: the same bytes as from a file that has only this block.
 *
 * @param options.packed the block as a file has it
 * @param options.epoch 16 bytes
 */
export async function frameBodyOf(
  { bytes, firstSeq: first, lastSeq: last, firstTimeUs: timeUs }: SealedBlock,
  { packed, epoch }: { packed: Uint8Array<ArrayBuffer>; epoch: Uint8Array<ArrayBuffer> },
): Promise<FrameBody> {
  const blockBytes = bytes.length;
  const data = packed === bytes ? compress(bytes, "zstd") : packed;
  return await bodyOf([packedAs({ first, last, timeUs, blockBytes }, data)], { blockBytes, epoch });
}

/**
 * The epoch of a file that names it by its first four bytes only, hex: one of the boat's, else as its blocks say. Those of
 * peers' boats name none; for them it is made of the four bytes.
 *
 * @param options.epochs the boat's, as far as they are known, hex
 */
export async function epochOfFile(
  path: string,
  { epochWord, epochs }: { epochWord: number; epochs: readonly string[] },
): Promise<string> {
  const known = epochs.find((each) => epochWordOf(Uint8Array.fromHex(each)) === epochWord);
  if (known !== undefined) return known;
  using reader = new BlockReader();
  const { blocks } = await openBlockFile(path);
  for (const location of blocks) {
    try {
      const { metadata: { epoch } } = await reader.read(path, location);
      if (epoch && epochWordOf(epoch) === epochWord) return epoch.toHex();
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
    }
  }
  const made = new Uint8Array(EPOCH_BYTES);
  new DataView(made.buffer).setUint32(0, epochWord, true);
  return made.toHex();
}

/**
 * The blocks of an object in the order of their numbers, checked; undefined if one is damaged or of another epoch.
 *
 * @param bytes of the whole object
 * @param options.epoch 16 bytes
 */
export async function blocksOfObject(
  bytes: Uint8Array<ArrayBuffer>,
  { epoch }: { epoch: Uint8Array<ArrayBuffer> },
): Promise<PackedBlock[] | undefined> {
  const read = (offset: number, length: number) => Promise.resolve(bytes.slice(offset, offset + length));
  const source = { bytes: bytes.length, read, [Symbol.dispose]: () => {} };
  using reader = new BlockReader(() => Promise.resolve(source));
  const { blocks, damaged, state } = await readFileIndex(read, bytes.length);
  if (damaged > 0 || state !== "closed") return undefined;
  const packed: PackedBlock[] = [];
  for (const { offset, header } of blocks) {
    const block = await packedBlock(reader, { path: "", location: { offset, bytes: storedBytes(header) }, epoch });
    if (!block) return undefined;
    packed.push(block);
    await turn();
  }
  return packed;
}

/** The content of an object with these blocks, of one size, whose numbers are consecutive. */
export async function bodyOf(
  blocks: readonly PackedBlock[],
  { blockBytes, epoch }: { blockBytes: number; epoch: Uint8Array<ArrayBuffer> },
): Promise<FrameBody> {
  const header = encodeFileHeader({ version: 2, blockBytes, compression: "zstd", epochWord: epochWordOf(epoch) });
  const located: BlockLocation[] = [];
  let end = FILE_HEADER_BYTES;
  for (const { bytes, timeUs, first: seq } of blocks) {
    located.push({ offset: end, bytes, timeUs, seq });
    end += bytes;
  }
  const index = encodeIndex(located.map(({ offset }) => offset));
  const bytes = new Uint8Array(end + index.length);
  let at = 0;
  for (const part of [header, ...blocks.flatMap(({ parts }) => parts), index]) {
    bytes.set(part, at);
    at += part.length;
  }
  const digests = await digestBoth(bytes);
  const hash = digests.sha256Hex.slice(0, HASH_DIGITS);
  const { first = 0, timeUs = 0 } = blocks[0] ?? {};
  const last = Math.max(0, ...blocks.map((block) => block.last));
  return { first, last, timeUs, blockBytes, bytes, digests, hash, blocks: located };
}

/** The hash in the key of an object with these bytes. */
export async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return digest.toHex().slice(0, HASH_DIGITS);
}
