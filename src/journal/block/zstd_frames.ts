import { BlockError } from "../errors.ts";

// The outside of zstd data (RFC 8878 §3.1). node:zlib as Deno has it reads the first of several frames only, and takes
// a frame that ends too early for a whole one; neither is an error there. So what lies where is found out here.

const FRAME_MAGIC = 0xfd2fb528;
/** Lowest of the sixteen magic numbers of frames to pass over. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const SKIPPABLE_HEADER_BYTES = 8;
const BLOCK_HEADER_BYTES = 3;
const MAX_BLOCK_CONTENT_BYTES = 128 * 1024;
const CHECKSUM_BYTES = 4;
/** Windows up to this size are read by everybody (RFC 8878 §3.1.1.1.2); as a logarithm for decoders' settings. */
export const MAX_WINDOW_LOG = 23;
/** Nobody cuts a block into more frames, and each of them costs time. */
const MAX_FRAMES = 1024;

/** A zstd frame inside other bytes. */
export interface ZstdFrame {
  start: number;
  end: number;
  /** Bytes that it says it becomes; undefined when it does not say. */
  contentBytes: number | undefined;
}

/** Finds the frames that `bytes` consist of. @throws {BlockError} they consist of something else, or of parts */
export function findZstdFrames(bytes: Uint8Array): ZstdFrame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const frames: ZstdFrame[] = [];
  try {
    for (let at = 0; at < bytes.length;) {
      const magic = view.getUint32(at, true);
      if (magic - SKIPPABLE_MAGIC >= 0 && magic - SKIPPABLE_MAGIC < 16) {
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
    // A view's own error: reading behind the end.
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
    // Type 1 repeats one byte.
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
  switch (bytes) {
    case 0:
      return undefined;
    case 1:
      return view.getUint8(at);
    case 2:
      return view.getUint16(at, true) + 256;
    case 4:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}

function fail(why: string): never {
  throw new BlockError("compressed", `The compressed block ${why}`);
}
