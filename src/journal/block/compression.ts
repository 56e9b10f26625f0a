import { errorText } from "../../base/mod.ts";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { BlockError } from "../errors.ts";

// Frame headers of zstd data (RFC 8878 §3.1). Deno's node:zlib decompresses only the first of several frames, and reports
// no error for a truncated frame. So the frames are located and checked here.

const FRAME_MAGIC = 0xfd2fb528;
/** Lowest of the sixteen magic numbers of skippable frames. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const SKIPPABLE_HEADER_BYTES = 8;
const BLOCK_HEADER_BYTES = 3;
const MAX_BLOCK_CONTENT_BYTES = 128 * 1024;
const CHECKSUM_BYTES = 4;
/** Largest window, log2 of bytes: the size that every decoder should support (RFC 8878 §3.1.1.1.2). */
export const MAX_WINDOW_LOG = 23;
/** Maximum number of frames per block: bounds the time. No writer uses that many. */
const MAX_FRAMES = 1024;

/** Location of a zstd frame, by offsets. */
export interface ZstdFrame {
  start: number;
  end: number;
  /** Decompressed size, bytes; undefined if the frame does not declare it. */
  contentBytes: number | undefined;
}

/** Locates the frames in `bytes`. @throws {BlockError} the bytes are not complete zstd frames */
export function findZstdFrames(bytes: Uint8Array): ZstdFrame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const frames: ZstdFrame[] = [];
  try {
    for (let at = 0; at < bytes.length;) {
      const magic = view.getUint32(at, true);
      if (magic >= SKIPPABLE_MAGIC && magic < SKIPPABLE_MAGIC + 16) {
        at += SKIPPABLE_HEADER_BYTES + view.getUint32(at + 4, true);
        if (at > bytes.length) fail("is cut short");
        continue;
      }
      if (magic !== FRAME_MAGIC) fail("is no zstd");
      if (frames.length === MAX_FRAMES) fail(`has more than ${MAX_FRAMES} zstd frames`);
      const frame = readFrame(view, at);
      frames.push(frame);
      at = frame.end;
    }
  } catch (error) {
    // Thrown by the view for a read beyond the end.
    if (error instanceof RangeError) fail("is cut short");
    throw error;
  }
  return frames;
}

function readFrame(view: DataView, start: number): ZstdFrame {
  const descriptor = view.getUint8(start + 4);
  if (descriptor & 0x08) fail("has a reserved bit set");
  const isSingle = (descriptor & 0x20) !== 0;
  let at = start + 5;
  if (!isSingle) checkWindow(view.getUint8(at++));
  at += [0, 1, 2, 4][descriptor & 3] ?? 0;
  const sizeCode = descriptor >> 6;
  const sizeBytes = sizeCode === 0 ? (isSingle ? 1 : 0) : 1 << sizeCode;
  const contentBytes = readContentSize(view, { at, bytes: sizeBytes });
  at += sizeBytes;
  for (let isLast = false; !isLast;) {
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    isLast = (header & 1) === 1;
    const type = (header >> 1) & 3;
    const size = header >> 3;
    if (type === 3 || size > MAX_BLOCK_CONTENT_BYTES) fail("has an impossible zstd block");
    // Type 1 is run-length encoded: one byte.
    at += BLOCK_HEADER_BYTES + (type === 1 ? 1 : size);
  }
  if (descriptor & 0x04) at += CHECKSUM_BYTES;
  if (at > view.byteLength) fail("is cut short");
  return { start, end: at, contentBytes };
}

function checkWindow(descriptor: number): void {
  const base = 2 ** (10 + (descriptor >> 3));
  if (base + base / 8 * (descriptor & 7) > 2 ** MAX_WINDOW_LOG) fail("needs too much memory");
}

function readContentSize(view: DataView, { at, bytes }: { at: number; bytes: number }): number | undefined {
  if (bytes === 0) return undefined;
  if (bytes === 1) return view.getUint8(at);
  if (bytes === 2) return view.getUint16(at, true) + 256;
  return bytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

function fail(why: string): never {
  throw new BlockError("compressed", `The compressed block ${why}`);
}

/** Fast enough for the event loop: a few milliseconds per block. */
const FAST_LEVEL = 3;
/**
 * A tenth smaller than level 3, for real recordings and for the simulated boat: from this level on zstd parses optimally.
 * Levels in between gain at most half of that, higher ones nothing more.
 */
const SMALL_LEVEL = 16;
/** Initial output buffer of one frame of several that does not declare its size, bytes. */
const FIRST_PIECE_BYTES = 16_384;

/** Decompresses blocks with a dictionary; see {@linkcode loadDictionaryDecoder}. */
export interface DictionaryDecoder {
  /** Decompresses a block. @throws {BlockError} the output is not exactly one block */
  decompress(bytes: Uint8Array, options: { dictionary: Uint8Array; blockBytes: number }): Uint8Array<ArrayBuffer>;
}

/**
 * Compresses a block for a file. The zstd frame declares its size, for older readers; it has no checksum, because the
 * block has one.
 */
export function compress(block: Uint8Array<ArrayBuffer>, compression: "none" | "zstd"): Uint8Array<ArrayBuffer> {
  return compression === "none" ? block : compressAt(FAST_LEVEL, block);
}

/**
 * As {@linkcode compress}, but a tenth smaller and twenty times slower: call it in a thread. The asynchronous functions of
 * node:zlib would block the event loop, too.
 */
export function compressSmall(block: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return compressAt(SMALL_LEVEL, block);
}

function compressAt(level: number, block: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  // A variable, not a literal: the type declarations lack `pledgedSrcSize`.
  const options = { pledgedSrcSize: block.length, params: { [constants.ZSTD_c_compressionLevel]: level } };
  return plain(zstdCompressSync(block, options));
}

/**
 * Decompresses a block without a dictionary. Returns the given bytes if the compression is `none`.
 *
 * @throws {BlockError} the output is not exactly one block
 */
export function decompress(
  bytes: Uint8Array,
  { compression, blockBytes }: { compression: "none" | "zstd"; blockBytes: number },
): Uint8Array {
  if (compression === "none") {
    if (bytes.length !== blockBytes) throw wrongSize(bytes.length, blockBytes);
    return bytes;
  }
  return decompressFrames(bytes, {
    blockBytes,
    unpack: (frame, { maxBytes, isOnly }) => {
      const chunkSize = isOnly ? blockBytes : Math.min(maxBytes, frame.contentBytes ?? FIRST_PIECE_BYTES);
      return plain(zstdDecompressSync(bytes.subarray(frame.start, frame.end), {
        // No decoder accepts 0; the output is checked below.
        maxOutputLength: Math.max(1, maxBytes),
        chunkSize: Math.max(64, chunkSize),
        params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
      }));
    },
  });
}

let dictionaryDecoder: Promise<DictionaryDecoder> | undefined;

/** Loads the decoder for blocks with a dictionary, once. Few journals have them, and node:zlib silently ignores a dictionary. */
export function loadDictionaryDecoder(): Promise<DictionaryDecoder> {
  return dictionaryDecoder ??= makeDictionaryDecoder();
}

async function makeDictionaryDecoder(): Promise<DictionaryDecoder> {
  const { createDCtx, decompressUsingDict, init } = await import("@bokuweb/zstd-wasm");
  await init();
  const context = createDCtx();
  return {
    decompress: (bytes, { dictionary, blockBytes }) =>
      decompressFrames(bytes, {
        blockBytes,
        unpack: (frame, { maxBytes }) => {
          const packed = bytes.subarray(frame.start, frame.end);
          return plain(decompressUsingDict(context, packed, dictionary, { defaultHeapSize: Math.max(1, maxBytes) }));
        },
      }),
  };
}

/** Decompresses one frame. `maxBytes`: the rest of the block; `isOnly`: the block has no other frame. */
type Unpack = (frame: ZstdFrame, options: { maxBytes: number; isOnly: boolean }) => Uint8Array<ArrayBuffer>;

/** Decompresses all frames, into at most one block. */
function decompressFrames(
  bytes: Uint8Array,
  { blockBytes, unpack }: { blockBytes: number; unpack: Unpack },
): Uint8Array<ArrayBuffer> {
  const frames = findZstdFrames(bytes);
  const isOnly = frames.length === 1;
  let block: Uint8Array<ArrayBuffer> | undefined;
  let filled = 0;
  for (const frame of frames) {
    const maxBytes = blockBytes - filled;
    const { contentBytes } = frame;
    if ((contentBytes ?? 0) > maxBytes) throw wrongSize(filled + (contentBytes ?? 0), blockBytes);
    if (contentBytes === 0) continue;
    const piece = unpackSafely(() => unpack(frame, { maxBytes, isOnly }));
    if (piece.length > maxBytes) throw wrongSize(filled + piece.length, blockBytes);
    if (isOnly) block = piece;
    else (block ??= new Uint8Array(blockBytes)).set(piece, filled);
    filled += piece.length;
  }
  if (filled !== blockBytes || !block) throw wrongSize(filled, blockBytes);
  return block;
}

/** Any error of a decoder means damaged bytes. */
function unpackSafely(unpack: () => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  try {
    return unpack();
  } catch (error) {
    throw new BlockError("compressed", `The block cannot be unpacked: ${errorText(error)}`);
  }
}

/** The same bytes as a `Uint8Array`: mixing in a `Buffer` would slow down all code that reads blocks. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, length) : new Uint8Array(bytes);
}

function wrongSize(found: number, wanted: number): BlockError {
  return new BlockError("compressed", `The block has ${found} bytes instead of ${wanted}`);
}
