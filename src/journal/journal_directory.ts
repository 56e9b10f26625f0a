import { basename, dirname } from "node:path";
import type { Logger } from "../base/mod.ts";
import { type BlockFile, blockLocation } from "./file/block_file.ts";
import { FileEnds, journalNames, readEnd } from "./file/end.ts";
import type { IndexedBlock } from "./index/file_index.ts";
import { epochWordOf } from "./file/layout.ts";
import { DEFAULT_PREFIX, JOURNAL_EXTENSION, nextFileName, parseFileName } from "./file/name.ts";
import { UNORDERED_PREFIX } from "./file/order.ts";
import { DEFAULT_BLOCK_BYTES, type SealedBlock } from "./types.ts";
import { readWals, type StoredWal } from "./wal/wal_files.ts";
import { type Unsealed, unsealedOf } from "./wal/recovery.ts";

/** Content of a journal directory. */
export interface JournalDirectory {
  /** Paths of its `.lpj` files, in the order of their names. */
  files: string[];
  /**
   * Its write-ahead logs with frames that no file holds; these frames are blocks in memory. In the order in which the next
   * start writes them into files. `index.state` is `torn` if bytes after the last complete record are unreadable.
   */
  wals: BlockFile[];
}

/**
 * Reads the content of a journal directory, without locking or changing it. A server may be writing it: the logs are read
 * before the files are listed, so every frame that was synced before the call is in one of them.
 *
 * @param options.log gets warnings about torn logs
 * @throws {Deno.errors.NotFound} the directory does not exist, or has no journal
 */
export async function readJournalDirectory(
  directory: string,
  { log }: { log?: Logger } = {},
): Promise<JournalDirectory> {
  const stored = await readWals(directory);
  const files = await journalFilesOf(directory);
  if (files.length === 0 && stored.length === 0) {
    throw new Deno.errors.NotFound(
      `No journal is in "${directory}": it has neither .lpj files nor a write-ahead log`,
    );
  }
  // Backfilled files exist only in a cloud, and say nothing about the newest live frame.
  const names = (await journalNames(directory)).filter((name) => !name.startsWith(UNORDERED_PREFIX));
  const ends = new FileEnds(names, (name) => endOf(`${directory}/${name}`));
  const namer = new FileNamer(names);
  const wals = stored.flatMap((each) => each.wal === undefined && each.bytes > 0 ? [unreadable(each)] : []);
  for await (const unsealed of unsealedOf(stored, ends)) wals.push(asBlockFile(unsealed, namer));
  for (const { path, bytes, index } of wals) {
    if (index.state === "torn") log?.warn("write-ahead log is torn", { path, unreadableBytes: bytes - index.end });
  }
  return { files, wals };
}

/**
 * True if a write-ahead log in the same directory holds the frames of a file's torn last block, so that nothing is lost.
 *
 * @param end epoch and newest readable frame of the file; 0 if there is none
 */
export async function isTornBlockKept(path: string, end: { epochWord: number; lastSeq: number }): Promise<boolean> {
  const stored = await readWals(dirname(path));
  return stored.some(({ wal }) =>
    // Blocks are written in order: the torn one is the next.
    wal !== undefined && wal.frames.length > 0 && wal.firstSeq > end.lastSeq &&
    epochWordOf(wal.epoch) === end.epochWord
  );
}

async function journalFilesOf(directory: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (!isDirectory && name.toLowerCase().endsWith(JOURNAL_EXTENSION)) names.push(name);
  }
  return names.sort().map((name) => `${directory}/${name}`);
}

async function endOf(path: string) {
  try {
    using file = await Deno.open(path);
    return await readEnd(file, basename(path));
  } catch {
    // Reported when the file itself is read.
    return undefined;
  }
}

/** Names the files that the next start writes the logs into. */
class FileNamer {
  readonly #taken: Set<string>;
  readonly #prefix: string;
  #newest: string | undefined;

  /** @param names existing files, newest first */
  constructor(names: readonly string[]) {
    this.#taken = new Set(names);
    this.#newest = names[0];
    this.#prefix = parseFileName(names[0] ?? "")?.prefix ?? DEFAULT_PREFIX;
  }

  next(timeUs: number): string {
    const [after, taken] = [this.#newest, this.#taken];
    const name = nextFileName(this.#prefix, { timeUs, after, isTaken: (each) => taken.has(each) });
    taken.add(name);
    return this.#newest = name;
  }
}

function asBlockFile({ path, bytes, wal, blocks: sealed }: Unsealed, namer: FileNamer): BlockFile {
  const { blockBytes, epoch, torn } = wal;
  const end = bytes - torn;
  const header = { version: 2, compression: "zstd", blockBytes, epochWord: epochWordOf(epoch) } as const;
  const blocks = sealed.map((block, at) => indexed(block, { at, bytes: at === 0 ? end : 0 }));
  const index = { header, blocks, end, state: torn > 0 ? "torn" : "open", damaged: 0 } as const;
  return { path, bytes, index, blocks: blocks.map(blockLocation), sealsInto: namer.next(sealed[0]?.firstTimeUs ?? 0) };
}

/** Blocks of a log have no offsets: their indexes serve as offsets, and the first one counts all bytes. */
function indexed(
  { bytes: unsealed, firstTimeUs: baseTimeUs, firstSeq: baseSeq }: SealedBlock,
  { at: offset, bytes: dataBytes }: { at: number; bytes: number },
): IndexedBlock {
  const lengths = { headerBytes: 0, dictionaryBytes: 0, dataBytes };
  return { offset, header: { baseTimeUs, baseSeq, compression: "none", ...lengths }, unsealed };
}

function unreadable({ path, bytes }: StoredWal): BlockFile {
  const header = { version: 2, compression: "zstd", blockBytes: DEFAULT_BLOCK_BYTES, epochWord: 0 } as const;
  const index = { header, blocks: [], end: 0, state: "torn", damaged: 0 } as const;
  return { path, bytes, index, blocks: [], sealsInto: basename(path) + JOURNAL_EXTENSION };
}
