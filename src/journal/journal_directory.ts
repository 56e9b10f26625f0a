import type { Logger } from "../base/mod.ts";
import { type BlockFile, placeOf } from "./file/block_file.ts";
import { FileEnds, journalNames, readEnd } from "./file/end.ts";
import type { IndexedBlock } from "./index/file_index.ts";
import { epochWordOf } from "./file/layout.ts";
import { DEFAULT_PREFIX, JOURNAL_EXTENSION, nameOf, nextFileName, parseFileName } from "./file/name.ts";
import { UNORDERED_PREFIX } from "./file/order.ts";
import type { SealedBlock } from "./file/journal_file.ts";
import { readWals, type StoredWal } from "./wal/wal_files.ts";
import { DEFAULT_BLOCK_BYTES } from "./types.ts";
import { type Unsealed, unsealedOf } from "./wal/unsealed.ts";

/** Content of a journal directory. */
export interface JournalDirectory {
  /** Paths of its `.lpj` files, in the order of their names. */
  files: string[];
  /**
   * Its write-ahead logs, as far as no file holds their frames, with these frames as blocks in memory; in the order in
   * which a start writes them into files. `index.state` is `torn` where bytes after the last whole record cannot be read.
   */
  wals: BlockFile[];
}

/**
 * Reads the content of a journal directory. It is neither locked nor changed, so a server may be
 * writing it: the logs are read before the files are listed, hence what is synced at the call is in one of them.
 *
 * @param options.log warned of torn logs
 * @throws {Deno.errors.NotFound} there is no journal, or no directory
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
  // Only in a cloud: what was fetched later says nothing of what was live.
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
 * True where the torn end of a file is of a block whose frames are in a write-ahead log beside it, so that nothing is lost.
 *
 * @param end newest frame of the file that can be read, 0 where there is none
 */
export async function isTornBlockKept(path: string, end: { epochWord: number; lastSeq: number }): Promise<boolean> {
  const slash = path.lastIndexOf("/");
  const stored = await readWals(slash < 0 ? "." : path.slice(0, slash));
  return stored.some(({ wal }) =>
    // Blocks are written in order: the next one is torn.
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
    return await readEnd(file, nameOf(path));
  } catch {
    // Whoever reads the file says what is wrong with it.
    return undefined;
  }
}

/** Names files as a start does that writes logs into them. */
class FileNamer {
  readonly #taken: Set<string>;
  readonly #prefix: string;
  #newest: string | undefined;

  /** @param names those that are there, the newest first */
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
  return { path, bytes, index, blocks: blocks.map(placeOf), sealsInto: namer.next(sealed[0]?.firstTimeUs ?? 0) };
}

/** Blocks of a log have no places of their own: they are counted, and the first one has all bytes. */
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
  return { path, bytes, index, blocks: [], sealsInto: nameOf(path) + JOURNAL_EXTENSION };
}
