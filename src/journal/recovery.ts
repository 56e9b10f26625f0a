import { errorText, type Logger } from "../base/mod.ts";
import { type Block, readBlock } from "./block.ts";
import { BlockBuilder } from "./block_builder.ts";
import { decompress } from "./compression.ts";
import { BlockError } from "./errors.ts";
import { type FileIndex, type IndexedBlock, readFileAt, readFileIndex, storedBytes } from "./file_index.ts";
import { epochWordOf, FILE_HEADER_BYTES } from "./file_layout.ts";
import { nextFileName, parseFileName } from "./file_name.ts";
import { JournalFile, type SealedBlock } from "./journal_file.ts";
import type { Tail } from "./tail.ts";
import { readTails, removeTails } from "./tail_files.ts";
import { decodeOpening } from "./tail_opening.ts";

/** What a start found. */
export interface Recovered {
  /** Newest frame of the journal, recovered ones included; 0 when there is none. */
  lastSeq: number;
  /** 16 bytes that name its run of numbers; undefined when there is none, or none that is known. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Name of the newest file, which the next one must not sort before. */
  newestFile: string | undefined;
  /** Frames that were only in a tail. */
  frames: number;
  /** Bytes cut off from files. */
  cutBytes: number;
  /** Blocks of such frames that could not be written, for the writer to do: their tails are still there. */
  pending: SealedBlock[];
}

/** Where a journal is. */
export interface RecoveryOptions {
  directory: string;
  prefix?: string;
  compression?: "none" | "zstd";
  /**
   * Looks at files of the prefix alone; default false. Where others write beside the recording, what they wrote last says
   * nothing of what a tail holds.
   */
  onlyOwn?: boolean;
  log: Logger;
}

/** How a file ends. */
interface FileEnd {
  name: string;
  epochWord: number;
  /** Its newest frame that can be read; 0 when there is none, or none with a number. */
  lastSeq: number;
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Bytes behind the last block that can be read; undefined where that is no crash's doing. */
  tornBytes: number;
  size: number;
}

/** Names of the journal's files, or of those with a prefix, the newest first. */
async function journalNames(directory: string, prefix?: string): Promise<string[]> {
  const found: { name: string; timeMs: number }[] = [];
  for await (const { name, isFile } of Deno.readDir(directory)) {
    const parsed = isFile ? parseFileName(name) : undefined;
    if (parsed && (prefix === undefined || parsed.prefix === prefix)) found.push({ name, timeMs: parsed.timeMs });
  }
  found.sort((one, other) => other.timeMs - one.timeMs || (one.name < other.name ? 1 : -1));
  return found.map(({ name }) => name);
}

async function readIndexed(file: Deno.FsFile, { offset, header }: IndexedBlock, index: FileIndex) {
  const { headerBytes, dataBytes, compression } = header;
  // Others' blocks: they are not cut, and their numbers are not ours.
  if (compression === "zstd-dict") return undefined;
  const data = await readFileAt(file, { offset: offset + headerBytes, length: dataBytes });
  try {
    return readBlock(decompress(data, { compression, blockBytes: index.header.blockBytes }), index.header);
  } catch (error) {
    if (error instanceof BlockError) return undefined;
    throw error;
  }
}

/** The last block of a file that can be read, and where it ends. */
async function lastBlock(file: Deno.FsFile, index: FileIndex): Promise<{ block: Block; end: number } | undefined> {
  for (const indexed of index.blocks.toReversed()) {
    const block = await readIndexed(file, indexed, index);
    if (block) return { block, end: indexed.offset + storedBytes(indexed.header) };
  }
  return undefined;
}

/**
 * Most bytes that a crash leaves torn: one block, as each is synced before the next is begun, or an index. More than
 * that is damage of another kind, which is left to whoever wants to look at it.
 */
function mostTorn({ header, blocks }: FileIndex): number {
  return Math.max(header.blockBytes + 4096, 8 * blocks.length + 4096);
}

/** How a file ends; undefined when it is no journal. */
async function readEnd(file: Deno.FsFile, name: string): Promise<FileEnd | undefined> {
  const { size } = await file.stat();
  const read = (offset: number, length: number) => readFileAt(file, { offset, length });
  const index = await readFileIndex(read, size).catch((error) => {
    if (error instanceof BlockError) return undefined;
    throw error;
  });
  if (index === undefined) return undefined;
  const { version, compression, epochWord } = index.header;
  const isOurs = version === 2 && compression !== "zstd-dict";
  const last = isOurs ? await lastBlock(file, index) : undefined;
  const torn = isOurs && index.state !== "closed" ? size - (last?.end ?? FILE_HEADER_BYTES) : 0;
  return {
    name,
    epochWord,
    lastSeq: last?.block.baseSeq === undefined ? 0 : last.block.baseSeq + last.block.frameCount - 1,
    epoch: last?.block.notes.epoch,
    tornBytes: torn <= mostTorn(index) ? torn : 0,
    size,
  };
}

/** Cuts off what is torn; a file in which nothing else is goes. */
async function cut(file: Deno.FsFile, { path, end }: { path: string; end: FileEnd }): Promise<void> {
  const { size, tornBytes } = end;
  if (size - tornBytes <= FILE_HEADER_BYTES) return await Deno.remove(path);
  if (tornBytes === 0) return;
  await file.truncate(size - tornBytes);
  await file.sync();
}

/** Mends how a file ends. Gives how many bytes were cut off; undefined when it is whole, or no journal. */
async function mend(
  file: Deno.FsFile,
  { path, name, end }: { path: string; name: string; end: FileEnd | undefined },
): Promise<number | undefined> {
  const { size } = await file.stat();
  if (end === undefined && size > FILE_HEADER_BYTES) return undefined;
  // Made, and the power went before anything was in it.
  const found = end ?? { name, epochWord: 0, lastSeq: 0, epoch: undefined, tornBytes: size, size };
  if (found.tornBytes === 0 && size > FILE_HEADER_BYTES) return undefined;
  await cut(file, { path, end: found });
  return found.tornBytes;
}

/** The ends of the newest file, which is mended, and of the newest one of each tail's run. */
class Files {
  readonly #directory: string;
  readonly #names: readonly string[];
  #place = 0;
  readonly #ends: FileEnd[] = [];
  cutBytes = 0;
  readonly cutFiles: string[] = [];

  constructor(directory: string, names: readonly string[]) {
    this.#directory = directory;
    this.#names = names;
  }

  /** The newest file with frames, or the newest one of a run. */
  async find(epochWord?: number): Promise<FileEnd | undefined> {
    const fits = (end: FileEnd) => end.lastSeq > 0 && (epochWord === undefined || end.epochWord === epochWord);
    const known = this.#ends.find(fits);
    if (known) return known;
    while (this.#place < this.#names.length) {
      const end = await this.#read(this.#names[this.#place++] ?? "");
      if (end === undefined) continue;
      this.#ends.push(end);
      if (fits(end)) return end;
    }
    return undefined;
  }

  async #read(name: string): Promise<FileEnd | undefined> {
    const path = `${this.#directory}/${name}`;
    // Only what was written last can be torn, and whatever is behind it without a frame.
    const mayBeTorn = this.#ends.every(({ lastSeq }) => lastSeq === 0);
    using file = await Deno.open(path, { read: true, write: mayBeTorn });
    const end = await readEnd(file, name);
    if (!mayBeTorn) return end;
    const cutBytes = await mend(file, { path, name, end });
    if (cutBytes !== undefined) {
      this.cutBytes += cutBytes;
      this.cutFiles.push(name);
    }
    return end;
  }
}

/** Blocks of the frames of a tail behind a number. */
function blocksOf(tail: Tail, lastSeq: number): SealedBlock[] {
  const skip = Math.max(0, lastSeq + 1 - tail.firstSeq);
  const { devices, notes: { gap, digests, ...notes } } = decodeOpening(tail.opening);
  const { blockBytes, epoch } = tail;
  const epochWord = epochWordOf(epoch);
  const builder = new BlockBuilder({ blockBytes });
  const blocks: SealedBlock[] = [];
  const end = () => {
    const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = builder;
    if (builder.frames > 0) {
      blocks.push({ bytes: builder.finish(), firstSeq, lastSeq, firstTimeUs, latestTimeUs, epochWord });
    }
  };
  // Gap and digests are of what lies before the tail's first frame.
  const before = skip === 0 ? { ...(gap && { gap }), ...(digests && { digests }) } : {};
  builder.begin({ devices, notes: { ...notes, epoch, ...before } });
  for (const [i, frame] of tail.frames.slice(skip).entries()) {
    const seq = tail.firstSeq + skip + i;
    if (builder.append(seq, frame) === "added") continue;
    end();
    builder.begin({ devices, notes: { ...notes, epoch } });
    builder.append(seq, frame);
  }
  end();
  return blocks;
}

/** Writes blocks into a file of their own. Returns its name. */
async function writeFile(
  blocks: readonly SealedBlock[],
  { tail, after, options }: { tail: Tail; after: string | undefined; options: RecoveryOptions },
): Promise<string> {
  const { directory, prefix = "nmea2k", compression = "zstd" } = options;
  const taken = new Set(await journalNames(directory));
  const timeUs = blocks[0]?.firstTimeUs ?? 0;
  const name = nextFileName(prefix, { timeUs, after, isTaken: (each) => taken.has(each) });
  const { blockBytes } = tail;
  const epochWord = epochWordOf(tail.epoch);
  const path = `${directory}/${name}`;
  const file = await JournalFile.create({ path, directory, blockBytes, compression, epochWord });
  try {
    for (const block of blocks) await file.append(block);
    await file.end();
  } catch (error) {
    await file.abandon();
    throw error;
  }
  return name;
}

/** Writes what only the tails hold into files, one for each tail. */
async function restore(found: Recovered, { files, options }: { files: Files; options: RecoveryOptions }) {
  const { directory, log } = options;
  // The run that the journal ends with first: a tail of another one is newer than all files.
  const newestWord = (await files.find())?.epochWord;
  const isOther = ({ epoch }: Tail) => newestWord === undefined || epochWordOf(epoch) === newestWord ? 0 : 1;
  const tails = await readTails(directory);
  tails.sort((one, other) => isOther(one) - isOther(other));
  const written = new Map<number, number>();
  for (const tail of tails) {
    const word = epochWordOf(tail.epoch);
    const lastSeq = written.get(word) ?? (await files.find(word))?.lastSeq ?? 0;
    const blocks = blocksOf(tail, lastSeq);
    const last = blocks.at(-1);
    if (last === undefined) continue;
    try {
      if (found.pending.length > 0) found.pending.push(...blocks);
      else found.newestFile = await writeFile(blocks, { tail, after: found.newestFile, options });
    } catch (error) {
      const reason = errorText(error);
      log.error("recovered frames cannot be written now", { reason });
      found.pending.push(...blocks);
    }
    written.set(word, last.lastSeq);
    found.frames += blocks.reduce((sum, { firstSeq, lastSeq }) => sum + lastSeq - firstSeq + 1, 0);
    found.lastSeq = last.lastSeq;
    found.epoch = tail.epoch;
  }
  if (found.pending.length === 0) await removeTails(directory);
}

/**
 * Makes a journal whole again after whatever ended its last recording: cuts off what is torn, and writes what only the
 * tails hold into a file. To be called before a writer is made, by the process that holds the directory.
 */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { directory, prefix = "nmea2k", onlyOwn = false, log } = options;
  const names = await journalNames(directory, onlyOwn ? prefix : undefined);
  const files = new Files(directory, names);
  const newest = await files.find();
  const found: Recovered = {
    lastSeq: newest?.lastSeq ?? 0,
    epoch: newest?.epoch,
    // Where no file can be read, names say nothing: a stranger's may be thousands of years ahead.
    newestFile: newest && [newest.name, ...names].find((name) => parseFileName(name)?.prefix === prefix),
    frames: 0,
    cutBytes: 0,
    pending: [],
  };
  await restore(found, { files, options });
  found.cutBytes = files.cutBytes;
  const { frames, cutBytes, lastSeq } = found;
  const { cutFiles } = files;
  if (frames > 0 || cutFiles.length > 0) {
    const file = cutFiles.length > 0 ? cutFiles.join(", ") : undefined;
    log.warn("the last recording was cut short", { frames, lastSeq, cutBytes, file });
  }
  return found;
}

/**
 * Cuts off what is torn in the newest files of a prefix, which were written side by side and without a tail.
 *
 * @param options.count how many may have been open at once
 */
export async function mendNewest(
  { directory, prefix, count, log }: { directory: string; prefix: string; count: number; log: Logger },
): Promise<void> {
  for (const name of (await journalNames(directory, prefix)).slice(0, count)) {
    const path = `${directory}/${name}`;
    using file = await Deno.open(path, { read: true, write: true });
    const cutBytes = await mend(file, { path, name, end: await readEnd(file, name) });
    if (cutBytes !== undefined) log.warn("a file was cut short", { path, cutBytes });
  }
}
