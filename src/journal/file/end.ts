import { type Block, readBlock } from "../block/block.ts";
import { findBlocks } from "./block_file.ts";
import { decompress } from "../block/compression.ts";
import { BlockError } from "../errors.ts";
import { type FileIndex, type IndexedBlock, storedBytes } from "../index/file_index.ts";
import { readFileAt } from "./source.ts";
import { FILE_HEADER_BYTES } from "./layout.ts";
import { parseFileName } from "./name.ts";

/** End of a file. */
export interface FileEnd {
  name: string;
  epochWord: number;
  /** Number of the newest readable frame; 0 if there is none, or no numbers. */
  lastSeq: number;
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Bytes after the last readable block that a crash left; 0 if they are damage of another kind. */
  tornBytes: number;
  size: number;
}

/** Names of the journal files in a directory, or of those with a prefix, newest first. */
export async function journalNames(directory: string, prefix?: string): Promise<string[]> {
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
  // Not written by this software: never truncated, and without our numbers.
  if (compression === "zstd-dict") return undefined;
  const data = await readFileAt(file, { offset: offset + headerBytes, length: dataBytes });
  try {
    return readBlock(decompress(data, { compression, blockBytes: index.header.blockBytes }), index.header);
  } catch (error) {
    if (error instanceof BlockError) return undefined;
    throw error;
  }
}

/** The last readable block of a file, and the offset after it. */
async function lastBlock(file: Deno.FsFile, index: FileIndex): Promise<{ block: Block; end: number } | undefined> {
  for (const indexed of index.blocks.toReversed()) {
    const block = await readIndexed(file, indexed, index);
    if (block) return { block, end: indexed.offset + storedBytes(indexed.header) };
  }
  return undefined;
}

/**
 * Maximum number of torn bytes after a crash: one block, as each is synced before the next begins, or an index. More bytes
 * are damage of another kind, and stay for analysis.
 */
function maxTornBytes({ header, blocks }: FileIndex): number {
  return Math.max(header.blockBytes + 4096, 8 * blocks.length + 4096);
}

/** Reads the end of a file; undefined if it is not a journal. */
export async function readEnd(file: Deno.FsFile, name: string): Promise<FileEnd | undefined> {
  const found = await findBlocks(file).catch((error) => {
    if (error instanceof BlockError) return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  const { bytes: size, index } = found;
  const { version, compression, epochWord } = index.header;
  const isOurs = version === 2 && compression !== "zstd-dict";
  const last = isOurs ? await lastBlock(file, index) : undefined;
  const torn = isOurs && index.state !== "closed" ? size - (last?.end ?? FILE_HEADER_BYTES) : 0;
  return {
    name,
    epochWord,
    lastSeq: last?.block.baseSeq === undefined ? 0 : last.block.baseSeq + last.block.frameCount - 1,
    epoch: last?.block.metadata.epoch,
    tornBytes: torn <= maxTornBytes(index) ? torn : 0,
    size,
  };
}

/** Reads the end of a file, by name. `mayBeTorn`: it is the newest file with a frame, as far as is known. */
type ReadEnd = (name: string, mayBeTorn: boolean) => Promise<FileEnd | undefined>;

/** The ends of files, each read on first use. */
export class FileEnds {
  readonly #names: readonly string[];
  readonly #read: ReadEnd;
  readonly #ends: FileEnd[] = [];
  #at = 0;

  /** @param names newest first */
  constructor(names: readonly string[], read: ReadEnd) {
    this.#names = names;
    this.#read = read;
  }

  /** End of the newest file with frames, optionally of one epoch. */
  async find(epochWord?: number): Promise<FileEnd | undefined> {
    const fits = (end: FileEnd) => end.lastSeq > 0 && (epochWord === undefined || end.epochWord === epochWord);
    const known = this.#ends.find(fits);
    if (known) return known;
    while (this.#at < this.#names.length) {
      const mayBeTorn = this.#ends.every(({ lastSeq }) => lastSeq === 0);
      const end = await this.#read(this.#names[this.#at++] ?? "", mayBeTorn);
      if (end === undefined) continue;
      this.#ends.push(end);
      if (fits(end)) return end;
    }
    return undefined;
  }
}
