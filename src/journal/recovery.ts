import type { Logger } from "../base/mod.ts";
import { BlockBuilder } from "./block_builder.ts";
import { readBlock } from "./block.ts";
import { decompress } from "./compression.ts";
import { BlockError } from "./errors.ts";
import { type FileIndex, type IndexedBlock, readFileAt, readFileIndex, storedBytes } from "./file_index.ts";
import { epochWordOf, FILE_HEADER_BYTES } from "./file_layout.ts";
import { nextFileName, parseFileName } from "./file_name.ts";
import { JournalFile } from "./journal_file.ts";
import { readTails, removeTails } from "./tail_files.ts";
import type { Tail } from "./tail.ts";
import { type BlockDevice, DEFAULT_BLOCK_BYTES, type Gap } from "./types.ts";

/** What a start found. */
export interface Recovered {
  /** Newest frame in the files, recovered ones included; 0 when there is none. */
  lastSeq: number;
  /** First four bytes of the epoch of the newest file; 0 when there is none. */
  epochWord: number;
  /** Name of the newest file. */
  newestFile: string | undefined;
  /** Frames that were only in a tail. */
  frames: number;
  /** Bytes cut off from files. */
  cutBytes: number;
}

/** Where a journal is. */
export interface RecoveryOptions {
  directory: string;
  prefix?: string;
  compression?: "none" | "zstd";
  log: Logger;
}

/** The block's last frame; undefined when the block cannot be read. */
async function lastSeqOf(file: Deno.FsFile, block: IndexedBlock, { header }: FileIndex): Promise<number | undefined> {
  const { headerBytes, dataBytes, compression } = block.header;
  if (compression === "zstd-dict") return block.header.baseSeq;
  const data = await readFileAt(file, { offset: block.offset + headerBytes, length: dataBytes });
  try {
    const read = readBlock(decompress(data, { compression, blockBytes: header.blockBytes }), header);
    return read.baseSeq === undefined ? undefined : read.baseSeq + read.frameCount - 1;
  } catch (error) {
    if (error instanceof BlockError) return undefined;
    throw error;
  }
}

/** Cuts off what is torn at the end of a file; tells its last frame. */
async function mend(path: string): Promise<{ lastSeq: number; epochWord: number; cut: number } | undefined> {
  using file = await Deno.open(path, { read: true, write: true });
  const { size } = await file.stat();
  const index = await readFileIndex((offset, length) => readFileAt(file, { offset, length }), size).catch((error) => {
    if (error instanceof BlockError) return undefined;
    throw error;
  });
  if (index === undefined) return undefined;
  const { epochWord } = index.header;
  let { end } = index;
  for (let at = index.blocks.length - 1; at >= 0; at--) {
    const block = index.blocks[at];
    const lastSeq = block && await lastSeqOf(file, block, index);
    if (block && lastSeq !== undefined) {
      end = block.offset + storedBytes(block.header);
      if (index.state === "closed" && at === index.blocks.length - 1) return { lastSeq, epochWord, cut: 0 };
      await cut(file, { end, size });
      return { lastSeq, epochWord, cut: size - end };
    }
    if (index.state === "closed") return { lastSeq: 0, epochWord, cut: 0 };
    end = block?.offset ?? FILE_HEADER_BYTES;
  }
  await cut(file, { end, size });
  return { lastSeq: 0, epochWord, cut: size - end };
}

async function cut(file: Deno.FsFile, { end, size }: { end: number; size: number }): Promise<void> {
  if (end >= size) return;
  await file.truncate(end);
  await file.sync();
}

/** Names of the journal's files, oldest first. */
async function journalNames(directory: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(directory)) {
    if (isFile && parseFileName(name) !== undefined) names.push(name);
  }
  return names.sort();
}

function isDevices(value: unknown): value is (Omit<BlockDevice, "name"> & { name: string })[] {
  return Array.isArray(value) && value.every((each) => typeof each?.name === "string" && typeof each?.src === "number");
}

/** Devices and gap that a block began with, as its tail tells them. */
function openingOf({ opening }: Tail): { devices: BlockDevice[]; gap?: Gap } {
  if (typeof opening !== "object" || opening === null) return { devices: [] };
  const { devices, gap } = opening as { devices?: unknown; gap?: Gap };
  const known = isDevices(devices) ? devices.map((each) => ({ ...each, name: BigInt(`0x${each.name}`) })) : [];
  return { devices: known, ...(gap && { gap }) };
}

/** Puts the frames of a tail that no block has into blocks of a file of their own. */
async function restore(tail: Tail, options: RecoveryOptions & { lastSeq: number; newestFile: string | undefined }) {
  const { directory, prefix = "nmea2k", compression = "zstd", lastSeq, newestFile } = options;
  const skip = Math.max(0, lastSeq + 1 - tail.firstSeq);
  const frames = tail.frames.slice(skip);
  const [first] = frames;
  if (first === undefined) return { frames: 0, lastSeq, newestFile };
  const taken = new Set(await journalNames(directory));
  const name = nextFileName(prefix, { timeUs: first.timeUs, after: newestFile, isTaken: (each) => taken.has(each) });
  const blockBytes = tail.blockBytes || DEFAULT_BLOCK_BYTES;
  const file = await JournalFile.create({
    path: `${directory}/${name}`,
    directory,
    blockBytes,
    compression,
    epoch: tail.epoch,
  });
  const builder = new BlockBuilder({ blockBytes });
  const { devices, gap } = openingOf(tail);
  const begin = (notes: { gap?: Gap }) => builder.begin({ devices, notes: { epoch: tail.epoch, ...notes } });
  const end = async () => {
    const { firstSeq, lastSeq, firstTimeUs, lastTimeUs } = builder;
    if (builder.frames > 0) await file.append({ bytes: builder.finish(), firstSeq, lastSeq, firstTimeUs, lastTimeUs });
  };
  begin(skip === 0 && gap ? { gap } : {});
  let seq = tail.firstSeq + skip;
  for (const frame of frames) {
    if (builder.append(seq, frame) !== "added") {
      await end();
      begin({});
      builder.append(seq, frame);
    }
    seq++;
  }
  await end();
  await file.end();
  return { frames: frames.length, lastSeq: seq - 1, newestFile: name };
}

/**
 * Makes a journal whole again after whatever ended its last recording: cuts off what is torn, and writes what only the
 * tails hold into a file. To be called before a writer is made, by the process that holds the directory.
 */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { directory, log } = options;
  const names = await journalNames(directory);
  const found = { lastSeq: 0, epochWord: 0, newestFile: names.at(-1), frames: 0, cutBytes: 0 };
  for (const name of names.toReversed()) {
    const mended = await mend(`${directory}/${name}`);
    if (mended === undefined) continue;
    found.cutBytes += mended.cut;
    if (mended.cut > 0) log.warn("journal file was torn", { file: name, cutBytes: mended.cut });
    if (mended.lastSeq === 0) continue;
    found.lastSeq = mended.lastSeq;
    found.epochWord = mended.epochWord;
    break;
  }
  for (const tail of await readTails(directory)) {
    const sameRun = found.lastSeq === 0 || epochWordOf(tail.epoch) === found.epochWord;
    if (!sameRun) continue;
    const restored = await restore(tail, { ...options, lastSeq: found.lastSeq, newestFile: found.newestFile });
    found.frames += restored.frames;
    found.lastSeq = restored.lastSeq;
    found.newestFile = restored.newestFile;
    if (restored.frames > 0) found.epochWord = epochWordOf(tail.epoch);
  }
  if (found.frames > 0) log.info("frames recovered from the tail", { frames: found.frames, lastSeq: found.lastSeq });
  await removeTails(directory);
  return found;
}
