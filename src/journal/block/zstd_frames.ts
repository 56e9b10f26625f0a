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
