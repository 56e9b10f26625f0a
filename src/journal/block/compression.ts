import { errorText } from "../../base/mod.ts";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { BlockError } from "../errors.ts";
import { findZstdFrames, MAX_WINDOW_LOG, type ZstdFrame } from "./zstd_frames.ts";

/** Fast enough for the event loop: a few milliseconds a block. */
const FAST_LEVEL = 3;
/**
 * A tenth smaller than level 3, on real recordings as on the simulated boat: here zstd looks for the best way to cut
 * bytes into matches. Levels between win half of it at most, higher ones nothing more.
 */
const SMALL_LEVEL = 16;
/** What a frame is unpacked into at first when there are several and it does not tell its size. */
const FIRST_PIECE_BYTES = 16_384;

/** Unpacks blocks with a dictionary; see {@linkcode loadDictionaryDecoder}. */
export interface DictionaryDecoder {
  /** @throws {BlockError} what comes out is not exactly one block */
  decompress(bytes: Uint8Array, options: { dictionary: Uint8Array; blockBytes: number }): Uint8Array<ArrayBuffer>;
}

/**
 * Packs a block as it lies in a file. The zstd frame tells its size, as older software's do; it has no checksum, as the
 * block has one.
 */
export function compress(block: Uint8Array<ArrayBuffer>, compression: "none" | "zstd"): Uint8Array<ArrayBuffer> {
  return compression === "none" ? block : compressAt(FAST_LEVEL, block);
}

/**
 * Packs a block as {@linkcode compress} does, but a tenth smaller and twenty times slower: in a thread of its own. Node's
 * asynchronous functions would hold the event loop all the same.
 */
export function compressSmall(block: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return compressAt(SMALL_LEVEL, block);
}

function compressAt(level: number, block: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  // The package of types does not know the first of them.
  const options = { pledgedSrcSize: block.length, params: { [constants.ZSTD_c_compressionLevel]: level } };
  return plain(zstdCompressSync(block, options));
}

/**
 * Unpacks a block without a dictionary. Blocks that are not compressed are given back as they are.
 *
 * @throws {BlockError} what comes out is not exactly one block
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
    unpack: (frame, { room, isOnly }) => {
      const chunkSize = isOnly ? blockBytes : Math.min(room, frame.contentBytes ?? FIRST_PIECE_BYTES);
      return plain(zstdDecompressSync(bytes.subarray(frame.start, frame.end), {
        // No decoder takes 0; what comes out is measured in any case.
        maxOutputLength: Math.max(1, room),
        chunkSize: Math.max(64, chunkSize),
        params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
      }));
    },
  });
}

let dictionaryDecoder: Promise<DictionaryDecoder> | undefined;

/**
 * Loads what blocks with a dictionary need, once. Few journals have them, and node:zlib passes over a dictionary
 * without a word.
 */
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
        unpack: (frame, { room }) => {
          const packed = bytes.subarray(frame.start, frame.end);
          return plain(decompressUsingDict(context, packed, dictionary, { defaultHeapSize: Math.max(1, room) }));
        },
      }),
  };
}

/** Where a frame goes. */
interface Place {
  /** Bytes that the block still lacks. */
  room: number;
  isOnly: boolean;
}

/** Unpacks frame after frame, never into more than a block. */
function decompressFrames(
  bytes: Uint8Array,
  { blockBytes, unpack }: { blockBytes: number; unpack: (frame: ZstdFrame, place: Place) => Uint8Array<ArrayBuffer> },
): Uint8Array<ArrayBuffer> {
  const frames = findZstdFrames(bytes);
  const isOnly = frames.length === 1;
  let block: Uint8Array<ArrayBuffer> | undefined;
  let filled = 0;
  for (const frame of frames) {
    const room = blockBytes - filled;
    const { contentBytes } = frame;
    if ((contentBytes ?? 0) > room) throw wrongSize(filled + (contentBytes ?? 0), blockBytes);
    if (contentBytes === 0) continue;
    const piece = unpackSafely(() => unpack(frame, { room, isOnly }));
    if (piece.length > room) throw wrongSize(filled + piece.length, blockBytes);
    if (isOnly) block = piece;
    else (block ??= new Uint8Array(blockBytes)).set(piece, filled);
    filled += piece.length;
  }
  if (filled !== blockBytes || !block) throw wrongSize(filled, blockBytes);
  return block;
}

/** Whatever a decoder throws, the bytes are to blame. */
function unpackSafely(unpack: () => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  try {
    return unpack();
  } catch (error) {
    const why = errorText(error);
    throw new BlockError("compressed", `The compressed block cannot be unpacked: ${why}`);
  }
}

/** The same bytes as a plain array: a Buffer among them would slow down everything that reads blocks. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, length) : new Uint8Array(bytes);
}

function wrongSize(found: number, wanted: number): BlockError {
  return new BlockError("compressed", `The block has ${found} bytes instead of ${wanted}`);
}
