import { basename } from "node:path";
import { turn } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import { MIN_FRAME_BYTES } from "../block/layout.ts";
import { BlockReader, readUnwritten } from "../block/reader.ts";
import type { BlockRange } from "./block_table.ts";
import { BlockTables } from "./block_tables.ts";
import type { BlockError } from "../errors.ts";
import { namesIn, readEntry } from "./entry.ts";
import { SeenBlocks } from "./file_index.ts";
import { epochWordOf, FILE_HEADER_BYTES } from "../file/layout.ts";
import { type BlockLocation, openLocal, type OpenSource, SourceUnavailableError } from "../file/source.ts";
import {
  byFirstBlock,
  epochsOf,
  type FileEntry,
  inFile,
  infoOf,
  type KnownFile,
  type Located,
  mayHold,
  newEntry,
  oldestSeqIn,
  spansOf,
  writtenOrder,
} from "../file/order.ts";
import { IndexClock } from "./index_clock.ts";
import { IndexFaults } from "./index_faults.ts";
import { locate } from "./locate.ts";
import type {
  BlockLocations,
  EpochBlock,
  FileBlockLocation,
  JournalFileInfo,
  JournalIndexOptions,
  OutsideFile,
} from "./journal_index_types.ts";
import type { WrittenBlock } from "../writer/journal_writer.ts";

export type * from "./journal_index_types.ts";

/** Files that are opened concurrently where that takes long. */
const FILES_AT_ONCE = 32;
/** Times that one reader lists files outside the directory again for one that is listed and not there. */
const MAX_RELISTS = 3;
/** Locations processed before yielding to other tasks. */
const LOCATIONS_PER_TURN = 2048;

/**
 * Index of the blocks of a journal directory. Opening reads the beginning of each file; block tables are read on first use.
 * Blocks that the writer writes are added without reading the file.
 */
export class JournalIndex {
  /** Corrections of recorded times. */
  readonly clock: IndexClock;
  readonly #directory: string | undefined;
  readonly #open: OpenSource;
  readonly #unwritten: () => Uint8Array<ArrayBuffer>[];
  readonly #relist: JournalIndexOptions["relist"];
  readonly #isUnmounted: () => Promise<boolean>;
  readonly #files = new Map<string, FileEntry>();
  readonly #faults: IndexFaults;
  readonly #tables: BlockTables;
  /** For each active reader the blocks written since it began. */
  readonly #readers = new Set<WrittenBlock[]>();
  readonly #listeners = new Set<(block: WrittenBlock) => void>();
  #order: { runs: FileEntry[][]; byTime: FileEntry[] } | undefined;

  private constructor(
    directory: string | undefined,
    { log, open = openLocal, relist, unwritten = () => [], clock, isUnmounted = () => Promise.resolve(false) }:
      JournalIndexOptions,
  ) {
    this.#directory = directory;
    this.#open = open;
    this.#relist = relist;
    this.#isUnmounted = isUnmounted;
    const faults = this.#faults = new IndexFaults(log);
    this.clock = new IndexClock(clock);
    this.#tables = new BlockTables({
      faults,
      open,
      clock: this.clock.spans,
      isUnmounted,
      onDeleted: (file) => this.#noteDeleted(file),
    });
    this.#unwritten = unwritten;
  }

  /**
   * Opens the files of a directory. Skips files that are not journals or have no complete block, with a warning.
   *
   * @param directory undefined: all files are outside
   */
  static async open(directory: string | undefined, options: JournalIndexOptions): Promise<JournalIndex> {
    const index = new JournalIndex(directory, options);
    await index.rescan();
    return index;
  }

  /** Lists the directory again: drops deleted files, and adds new ones. */
  async rescan(): Promise<void> {
    const names = await namesIn(this.#directory);
    for (const { name, path, lastSeq } of [...this.#files.values()]) {
      if (lastSeq === undefined && !names.has(name)) this.noteRemoved(path);
    }
    for (const name of [...names].sort()) {
      const path = `${this.#directory}/${name}`;
      if (this.#files.has(name)) this.#faults.noteRead(path);
      else await this.#addFile(path);
    }
  }

  /** Adds files outside the directory. @throws {SourceUnavailableError} the beginning of one cannot be read now */
  async add(files: readonly OutsideFile[]): Promise<void> {
    const waiting = files.filter(({ path }) => !this.#files.has(basename(path)));
    const work = async () => {
      for (let file = waiting.pop(); file; file = waiting.pop()) await this.#addFile(file.path, file);
    };
    await Promise.all(Array.from({ length: FILES_AT_ONCE }, work));
  }

  /** Files in the order of the time of their first block. */
  get files(): readonly JournalFileInfo[] {
    return this.#ordered().byTime.map(infoOf);
  }

  /** Files that may hold frames of a range, as far as that is known without reading them. */
  filesIn(range: BlockRange): JournalFileInfo[] {
    const spans = this.#ordered().runs.flatMap((run) => [...spansOf(run)]);
    return spans.flatMap((span) => mayHold(span, range) ? infoOf(span.file) : []);
  }

  /** A file, given by its path; undefined if the journal does not include it. */
  infoOf(path: string): JournalFileInfo | undefined {
    const file = this.#files.get(basename(path));
    return file && infoOf(file);
  }

  /** Locations of a file's blocks, in file order; none if the file does not exist. */
  async blocksOf(path: string): Promise<BlockLocation[]> {
    const file = this.#files.get(basename(path));
    return file ? [...(await this.#tables.of(file)).select({}, { timeUs: Infinity, seq: Infinity })] : [];
  }

  /** Calls `listener` for each block that is written to disk from now on. Returns a function that ends this. */
  onWritten(listener: (block: WrittenBlock) => void): () => void {
    const listeners = this.#listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** A reader of the blocks of its files. */
  readonly reader = (): BlockReader => new BlockReader(this.#open);

  /** Total size of the files, bytes. */
  get bytes(): number {
    return this.#files.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** True if the journal includes a file, given by its name. Skipped files were logged. */
  readonly has = (name: string): boolean => this.#files.has(name);

  /** Lowest number on disk in the newest epoch; undefined if there is none. */
  get oldestSeq(): number | undefined {
    const { byTime } = this.#ordered();
    const newest = byTime.findLast(({ isWritten }) => isWritten) ?? byTime.at(-1);
    return newest && this.oldestSeqOf(newest.header.epochWord);
  }

  /** Lowest number on disk in an epoch, given by its first four bytes; undefined if there is none. */
  readonly oldestSeqOf = (epochWord: number): number | undefined => oldestSeqIn(this.#files.values(), epochWord);

  /** Messages about damaged and unreadable files; each names its file. */
  get damage(): readonly string[] {
    return this.#faults.damage;
  }

  /** Returns true if another file system is mounted in place of the directory: missing files are not deleted then. */
  readonly isUnmounted = (): Promise<boolean> => this.#isUnmounted();

  /** Number of damaged blocks found. */
  get damagedBlocks(): number {
    return this.#faults.damagedBlocks;
  }

  /** Adds a block that was written to disk. */
  noteWritten(block: WrittenBlock): void {
    for (const written of this.#readers) written.push(block);
    this.#addWritten(block);
    for (const listener of this.#listeners) listener(block);
  }

  #addWritten(block: WrittenBlock): void {
    const file = this.#files.get(basename(block.path));
    if (file) {
      file.isWritten = true;
      file.bytes = block.fileBytes;
      return this.#tables.add(file, block);
    }
    const first = { timeUs: block.firstTimeUs, seq: block.firstSeq };
    const added = this.#add(block.path, { header: block.header, bytes: block.fileBytes, first, isWritten: true });
    if (block.offset === FILE_HEADER_BYTES) this.#tables.begin(added, block);
  }

  /** Reports a block with unreadable frames despite a valid checksum. */
  readonly noteDamaged = (block: Block, error: BlockError): void => this.#faults.noteFrames(block, error);

  /** Drops a deleted file. @param options.isReplaced true if other files have its frames; default false */
  noteRemoved(path: string, { isReplaced = false }: { isReplaced?: boolean } = {}): void {
    this.#faults.noteRemoved(path);
    const file = this.#files.get(basename(path));
    if (!file) return;
    file.isReplaced = isReplaced;
    this.#forget(file);
  }

  /**
   * Reads the blocks that may hold frames of a range. Numbers ascend within an epoch; epochs are ordered by their start
   * times. Files without an epoch, of older software, are read by time unless `fromSeq` is given. Blocks that are not on
   * disk yet come last. No number is returned twice. Damaged blocks are skipped and counted. If a file is replaced by another
   * one while it is read, its frames are read from that.
   *
   * @throws {SourceUnavailableError} a file cannot be read now
   */
  async *blocks(range: BlockRange): AsyncGenerator<Block> {
    for await (const { block } of this.epochBlocks(range)) yield block;
  }

  /** Epochs of the files, in the order in which {@linkcode JournalIndex.blocks} reads them. */
  readonly epochOrder = (): number[] => epochsOf(this.#ordered().runs).map(({ epochWord }) => epochWord);

  /** As {@linkcode JournalIndex.blocks}, each block with its epoch. */
  async *epochBlocks(range: BlockRange): AsyncGenerator<EpochBlock> {
    const seen = new SeenBlocks(range.seen);
    const written: WrittenBlock[] = [];
    this.#readers.add(written);
    using reader = this.reader();
    try {
      yield* this.#readFiles(range, { reader, seen });
      // In the same turn, so that no block is missed between the two lists.
      const unwritten = this.#unwritten();
      this.#readers.delete(written);
      for (const located of this.#locateWritten(written)) {
        // Backfilled meanwhile below a number already returned: left to the next reader, to keep the order.
        if (seen.isPassed(located.file.header.epochWord, located.seq)) continue;
        if (range.skips?.(located.file.path, located.offset)) continue;
        yield* await this.#read(located, { reader, seen, range }) ?? [];
      }
      for await (const stored of readUnwritten(unwritten)) {
        const { epoch } = stored.block.metadata;
        const epochWord = epoch === undefined ? 0 : epochWordOf(epoch);
        const found = this.clock.timed(stored.block, { epochWord, range });
        if (found) yield* seen.fresh(found, epochWord).map((block) => ({ block, epochWord, stored }));
      }
    } finally {
      this.#readers.delete(written);
    }
  }

  /** Reads the wanted blocks of files. When one has gone, begins again after what was returned: another may have its frames. */
  async *#readFiles(
    range: BlockRange,
    { reader, seen }: { reader: BlockReader; seen: SeenBlocks },
  ): AsyncGenerator<EpochBlock> {
    let { after } = range;
    let relists = 0;
    for (let gone: FileEntry | undefined, isFirst = true; isFirst || gone; isFirst = false) {
      gone = undefined;
      for await (const located of this.#locate({ ...range, after })) {
        const found = await this.#read(located, { reader, seen, range });
        const { epochWord } = located.file.header;
        if (!found && epochWord !== 0) {
          gone = located.file;
          break;
        }
        for (const each of found ?? []) {
          const { baseSeq = 0, frameCount } = each.block;
          const before = after?.epochWord === epochWord ? after.seq : 0;
          after = { epochWord, seq: Math.max(before, baseSeq + frameCount - 1) };
          yield each;
        }
      }
      if (gone?.lastSeq === undefined || !this.#relist) continue;
      await this.add(await this.#relist());
      if (this.#files.has(gone.name) && ++relists > MAX_RELISTS) {
        throw new SourceUnavailableError(`"${gone.path}" is listed and cannot be read`);
      }
    }
  }

  /** Upper bound for the frames in a range, from the first numbers and the size of its blocks. */
  async framesAtMost(range: BlockRange): Promise<number> {
    // First, so that a block that is written meanwhile counts twice rather than not at all.
    let most = this.#unwritten().reduce((sum, { length }) => sum + length / MIN_FRAME_BYTES, 0);
    let count = 0;
    for await (const { file: { header: { blockBytes } }, mostFrames } of this.#locate(range)) {
      const capacity = blockBytes / MIN_FRAME_BYTES;
      most += mostFrames !== undefined && mostFrames < capacity ? mostFrames : capacity;
      if (++count % LOCATIONS_PER_TURN === 0) await turn();
    }
    return most;
  }

  /** Locations of an epoch's blocks, unread, and the blocks not on disk yet; a consistent snapshot. */
  async locations(range: { fromSeq: number; epochWord: number }): Promise<BlockLocations> {
    const written: WrittenBlock[] = [];
    this.#readers.add(written);
    const { refusals } = this.#faults;
    try {
      const locations: FileBlockLocation[] = [];
      for (const path of [...this.#faults.unread]) if (!this.#files.has(basename(path))) await this.#addFile(path);
      for await (const located of this.#locate(range)) {
        if (!located.file.isDeleted) locations.push(inFile(located));
        if (locations.length % LOCATIONS_PER_TURN === 0) await turn();
      }
      for (const located of this.#locateWritten(written)) {
        if (located.file.header.epochWord === range.epochWord) locations.push(inFile(located));
      }
      return { locations, unwritten: this.#unwritten(), isComplete: this.#faults.refusals === refusals };
    } finally {
      this.#readers.delete(written);
    }
  }

  #locate(range: BlockRange): AsyncGenerator<Located> {
    return locate(this.#ordered().runs, { tables: this.#tables, range });
  }

  *#locateWritten(blocks: readonly WrittenBlock[]): Generator<Located> {
    for (const { path, offset, firstTimeUs, firstSeq } of blocks) {
      const file = this.#files.get(basename(path));
      if (file) yield { file, offset, bytes: 0, timeUs: firstTimeUs, seq: firstSeq };
    }
  }

  /** Reads a block. Returns its parts that were not seen before; undefined: its file has gone. */
  async #read(
    { file, ...location }: Located,
    { reader, seen, range }: { reader: BlockReader; seen: SeenBlocks; range: BlockRange },
  ): Promise<EpochBlock[] | undefined> {
    if (file.isDeleted) {
      this.#noteDeleted(file);
      return undefined;
    }
    try {
      const { epochWord } = file.header;
      if (range.epochWord !== undefined && range.epochWord !== epochWord) return [];
      const stored = { ...await reader.readStored(file.path, location), version: file.header.version };
      const found = this.clock.timed(stored.block, { epochWord, range });
      return found ? seen.fresh(found, epochWord).map((block) => ({ block, epochWord, stored })) : [];
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) {
        if (await this.#isUnmounted()) this.#faults.noteUnread(file.path, error);
        else return void this.#noteDeleted(file);
      } else if (error instanceof SourceUnavailableError) throw error;
      else this.#faults.noteBlock(file, location.offset, error);
      return [];
    }
  }

  async #addFile(path: string, { lastSeq, head }: Partial<OutsideFile> = {}): Promise<void> {
    if (head?.first) return void this.#add(path, { ...head, first: head.first, isWritten: false, lastSeq });
    const [open, isUnmounted, tables, faults] = [this.#open, this.#isUnmounted, this.#tables, this.#faults];
    const known = await readEntry(path, { open, isUnmounted, tables, faults });
    if (known) this.#add(path, { ...known, lastSeq });
  }

  #add(path: string, known: KnownFile): FileEntry {
    const file = newEntry(path, known);
    this.clock.correct(file);
    this.#files.set(file.name, file);
    this.#order = undefined;
    return file;
  }

  /** The corrections of recorded times have changed. */
  noteClock(): void {
    this.#order = undefined;
    this.clock.changed(this.#files.values(), this.#tables);
  }

  #forget(file: FileEntry): void {
    file.isDeleted = true;
    this.#tables.forget(file);
    if (this.#files.get(file.name) === file) this.#files.delete(file.name);
    this.#order = undefined;
  }

  #ordered(): { runs: FileEntry[][]; byTime: FileEntry[] } {
    return this.#order ??= {
      runs: writtenOrder(this.#files.values()),
      byTime: [...this.#files.values()].sort(byFirstBlock),
    };
  }

  #noteDeleted(file: FileEntry): void {
    if (!file.isDeleted) this.#forget(file);
    if (!file.isReplaced && file.lastSeq === undefined) this.#faults.noteDeleted(file);
  }
}
