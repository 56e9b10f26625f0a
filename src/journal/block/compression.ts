import { errorText } from "../../base/mod.ts";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { BlockError } from "../errors.ts";
import { findZstdFrames, MAX_WINDOW_LOG, type ZstdFrame } from "./zstd_frames.ts";

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
  /** @throws {BlockError} the output is not exactly one block */
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
