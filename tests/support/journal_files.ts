import {
  type Block,
  blockHeaderBytes,
  decompress,
  type FileHeader,
  indexBytesOf,
  parseBlockHeader,
  parseFileHeader,
  parseIndex,
  readBlock,
} from "../../src/journal/mod.ts";
import { newStoredFrame, type StoredFrame } from "../../src/frame/mod.ts";

/** A frame as a value that compares. */
export interface FrameSeen {
  seq: number;
  timeUs: number;
  id: number;
  pgn: number;
  bus: number;
  data: string;
}

/** Copies what a frame says. */
export function frameSeen({ seq, timeUs, id, pgn, bus, data, offset, length }: StoredFrame): FrameSeen {
  return { seq, timeUs, id, pgn, bus, data: data.subarray(offset, offset + length).toHex() };
}

/** All frames of a block. */
export function framesOf(block: Block): FrameSeen[] {
  const frames: FrameSeen[] = [];
  const frame = newStoredFrame();
  for (const cursor = block.frames(); cursor.next(frame);) frames.push(frameSeen(frame));
  return frames;
}

/** Reads a file whose blocks have no dictionary, from beginning to end; by its index where it has one. */
export function readFile(bytes: Uint8Array): { header: FileHeader; offsets: number[] | undefined; blocks: Block[] } {
  const header = parseFileHeader(bytes);
  const fileBytes = bytes.length;
  const indexBytes = header.compression === "none" ? undefined : indexBytesOf(bytes, { fileBytes });
  const offsets = indexBytes === undefined ? undefined : parseIndex(bytes.subarray(-indexBytes), { fileBytes });
  const blocks: Block[] = [];
  for (let at = 16; at < fileBytes - (indexBytes ?? 0);) {
    const found = parseBlockHeader(bytes.subarray(at, at + blockHeaderBytes(header)), header);
    if (found.kind !== "block" || found.header.compression === "zstd-dict") throw new Error("No block is here");
    const { compression, headerBytes, dataBytes } = found.header;
    const start = at + headerBytes + found.header.dictionaryBytes;
    const { blockBytes } = header;
    const block = decompress(bytes.subarray(start, start + dataBytes), { compression, blockBytes });
    blocks.push(readBlock(block, header));
    at = start + dataBytes;
  }
  return { header, offsets, blocks };
}
