import { turn } from "../../base/mod.ts";
import { type Block, readBlock } from "../block/block.ts";
import { MIN_FRAME_BYTES } from "../block/layout.ts";
import { BlockReader } from "../block/reader.ts";
import { type BlockLocation, type BlockRange, isWanted } from "./block_table.ts";
import { BlockTables } from "./block_tables.ts";
import { BlockError } from "../errors.ts";
import { readFileAt } from "./file_index.ts";
import { epochWordOf, FILE_HEADER_BYTES } from "../file/layout.ts";
import { JOURNAL_EXTENSION, nameOf } from "../file/name.ts";
import {
  byFirstBlock,
  compareNumbers,
  type FileEntry,
  type FileSpan,
  mayHold,
  spansOf,
  writtenOrder,
} from "../file/order.ts";
import { IndexFaults } from "./index_faults.ts";
import type {
  BlockLocations,
  EpochBlock,
  JournalFileInfo,
  JournalIndexOptions,
  PlacedBlock,
} from "./journal_index_types.ts";
import type { WrittenBlock } from "../writer/journal_writer.ts";
import { type FileHead, readHead } from "./read_table.ts";
import { SeenBlocks } from "./seen_blocks.ts";

export type * from "./journal_index_types.ts";

/** A block and the file it is in. */
interface Located extends BlockLocation {
  file: FileEntry;
}

/** What is known of a file when it is found. */
interface KnownFile extends Pick<FileEntry, "header" | "bytes" | "isWritten"> {
  first: { timeUs: number; seq: number };
}

/** Locations that are visited before yielding to other tasks. */
const PLACES_A_TURN = 2048;

/**
 * Where the blocks of a journal are, and the way to them. When it is opened, each file's beginning is read; where its
 * blocks are is read when first needed. What the writer writes meanwhile is noted without opening a file again.
 */
export class JournalIndex {
  readonly #directory: string;
  readonly #unwritten: () => Uint8Array<ArrayBuffer>[];
  readonly #isAway: () => Promise<boolean>;
  readonly #files = new Map<string, FileEntry>();
  readonly #faults: IndexFaults;
  readonly #tables: BlockTables;
  /** What was written since each reader began. */
  readonly #readers = new Set<WrittenBlock[]>();
  #order: { runs: FileEntry[][]; byTime: FileEntry[] } | undefined;

  private constructor(
    directory: string,
    { log, unwritten = () => [], isAway = () => Promise.resolve(false) }: JournalIndexOptions,
  ) {
    this.#directory = directory;
    this.#isAway = isAway;
    const faults = this.#faults = new IndexFaults(log);
    this.#tables = new BlockTables({ faults, isAway, onGone: (file) => this.#noteGone(file) });
    this.#unwritten = unwritten;
  }

  /** Looks at the files of a directory. What is no journal, or has no whole block, is warned of and passed over. */
  static async open(directory: string, options: JournalIndexOptions): Promise<JournalIndex> {
    const index = new JournalIndex(directory, options);
    await index.rescan();
    return index;
  }

  /** Lists the directory again: drops removed files, and adds new ones. */
  async rescan(): Promise<void> {
    const names = new Set<string>();
    for await (const { name, isFile } of Deno.readDir(this.#directory)) {
      if (isFile && name.endsWith(JOURNAL_EXTENSION)) names.add(name);
    }
    for (const file of [...this.#files.values()]) if (!names.has(file.name)) this.noteRemoved(file.path);
    for (const name of [...names].sort()) {
      const path = `${this.#directory}/${name}`;
      if (this.#files.has(name)) this.#faults.noteRead(path);
      else await this.#addFile(path);
    }
  }

  /** Files by the time of their first block. */
  get files(): readonly JournalFileInfo[] {
    return this.#ordered().byTime.map(({ path, firstTimeUs, firstSeq, header }) => ({
      path,
      firstTimeUs,
      firstSeq: Number.isNaN(firstSeq) ? undefined : firstSeq,
      epochWord: header.epochWord,
    }));
  }

  /** Size of all files. */
  get bytes(): number {
    return this.#files.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Whether a file, by its name, is one of the journal's; of those that could not be read it was warned. */
  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** Smallest number on disk in the newest epoch; undefined if there is none. */
  get oldestSeq(): number | undefined {
    const { byTime } = this.#ordered();
    const newest = byTime.findLast(({ isWritten }) => isWritten) ?? byTime.at(-1);
    return newest && this.oldestSeqOf(newest.header.epochWord);
  }

  /** Smallest number on disk in an epoch, given by its first four bytes. */
  oldestSeqOf(epochWord: number): number | undefined {
    let oldest = Infinity;
    for (const { header, table, bounds, firstSeq } of this.#files.values()) {
      if (header.epochWord !== epochWord) continue;
      const seq = (table ?? bounds)?.minSeq ?? firstSeq;
      if (seq < oldest) oldest = seq;
    }
    return oldest === Infinity ? undefined : oldest;
  }

  /** What is damaged or cannot be read, in words; each names its file. */
  get damage(): readonly string[] {
    return this.#faults.damage;
  }

  /** Returns true if another file system is mounted in place of the directory: missing files are not deleted then. */
  isAway(): Promise<boolean> {
    return this.#isAway();
  }

  /** Blocks that were found damaged. */
  get damagedBlocks(): number {
    return this.#faults.damagedBlocks;
  }

  /** The writer wrote a block. */
  noteWritten(block: WrittenBlock): void {
    for (const news of this.#readers) news.push(block);
    const name = nameOf(block.path);
    const file = this.#files.get(name);
    if (file) {
      file.isWritten = true;
      file.bytes = block.fileBytes;
      return this.#tables.add(file, block);
    }
    const isFirst = block.offset === FILE_HEADER_BYTES;
    const first = { timeUs: block.firstTimeUs, seq: block.firstSeq };
    const added = this.#add(block.path, { header: block.header, bytes: block.fileBytes, first, isWritten: true });
    if (isFirst) this.#tables.begin(added, block);
  }

  /** A reader found frames in a block that cannot be read, though its checksum fits. */
  noteDamaged(block: Block, error: BlockError): void {
    this.#faults.noteFrames(block, error);
  }

  /** A file was deleted. */
  noteRemoved(path: string): void {
    this.#faults.noteRemoved(path);
    const file = this.#files.get(nameOf(path));
    if (file) this.#forget(file);
  }

  /**
   * Blocks that may hold frames of a range, unpacked and checked. Within an epoch numbers ascend; epochs follow each other
   * by the time at which they begin. Files without an epoch, of older software, are read by time unless `fromSeq` is given.
   * Blocks that are not on disk yet come last. No number comes twice. Damaged blocks are skipped and counted.
   */
  async *blocks(range: BlockRange): AsyncGenerator<Block> {
    for await (const { block } of this.epochBlocks(range)) yield block;
  }

  /** Epochs of the files in the order in which {@linkcode JournalIndex.blocks} reads them. */
  epochOrder(): number[] {
    return this.#epochs().map(({ epochWord }) => epochWord);
  }

  /** The same blocks as {@linkcode JournalIndex.blocks}, each with its epoch. */
  async *epochBlocks(range: BlockRange): AsyncGenerator<EpochBlock> {
    const seen = new SeenBlocks();
    const news: WrittenBlock[] = [];
    this.#readers.add(news);
    using reader = new BlockReader();
    try {
      for await (const located of this.#locate(range)) yield* await this.#read(located, { reader, seen, range });
      // Taken in one turn: each block is in one of the two or was there before.
      const unwritten = this.#unwritten();
      this.#readers.delete(news);
      for (const located of this.#locateWritten(news)) {
        // What is fetched meanwhile into a hole that was passed would come out of order: the next reader gets it.
        if (seen.isPassed(located.file.header.epochWord, located.seq)) continue;
        yield* await this.#read(located, { reader, seen, range });
      }
      for (const bytes of unwritten) {
        await turn();
        const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
        const { epoch } = block.notes;
        const epochWord = epoch === undefined ? 0 : epochWordOf(epoch);
        if (!isWanted(block, { epochWord, range })) continue;
        for (const fresh of seen.fresh(block, epochWord)) yield { block: fresh, epochWord };
      }
    } finally {
      this.#readers.delete(news);
    }
  }

  /** Most frames that a range can hold, by the numbers that its blocks begin with and the room that a block has. */
  async framesAtMost(range: BlockRange): Promise<number> {
    // Taken first: a block that is written meanwhile counts twice rather than not at all.
    let most = this.#unwritten().reduce((sum, { length }) => sum + length / MIN_FRAME_BYTES, 0);
    let count = 0;
    for await (const { file: { header: { blockBytes } }, mostFrames } of this.#locate(range)) {
      const room = blockBytes / MIN_FRAME_BYTES;
      most += mostFrames !== undefined && mostFrames < room ? mostFrames : room;
      if (++count % PLACES_A_TURN === 0) await turn();
    }
    return most;
  }

  /** Locations of an epoch's blocks, unread, and the blocks not on disk yet; a consistent snapshot. */
  async places(range: { fromSeq: number; epochWord: number }): Promise<BlockLocations> {
    const news: WrittenBlock[] = [];
    this.#readers.add(news);
    const { refusals } = this.#faults;
    try {
      const places: PlacedBlock[] = [];
      for (const path of [...this.#faults.unread]) if (!this.#files.has(nameOf(path))) await this.#addFile(path);
      for await (const located of this.#locate(range)) {
        places.push(placed(located));
        if (places.length % PLACES_A_TURN === 0) await turn();
      }
      for (const located of this.#locateWritten(news)) {
        if (located.file.header.epochWord === range.epochWord) places.push(placed(located));
      }
      return { places, unwritten: this.#unwritten(), isComplete: this.#faults.refusals === refusals };
    } finally {
      this.#readers.delete(news);
    }
  }

  /** Offsets of wanted blocks in order, one epoch after the other. */
  async *#locate({ after, ...range }: BlockRange): AsyncGenerator<Located> {
    const epochs = this.#epochs();
    const first = epochs.findIndex(({ epochWord }) => epochWord === after?.epochWord);
    for (const { epochWord, runs } of epochs.slice(Math.max(0, first))) {
      const bySeq = epochWord !== 0 || range.fromSeq !== undefined;
      const isPassed = after !== undefined && epochWord !== 0 && epochWord === after.epochWord;
      const own = isPassed ? { ...range, fromSeq: Math.max(range.fromSeq ?? 0, after.seq + 1) } : range;
      yield* this.#locateIn(runs, { range: own, bySeq });
    }
  }

  /** The runs of each epoch, in the order in which epochs begin. */
  #epochs(): { epochWord: number; runs: FileEntry[][]; startUs: number }[] {
    const epochs = Map.groupBy(this.#ordered().runs, (run) => run[0]?.header.epochWord ?? 0);
    const startOf = (runs: readonly FileEntry[][]) =>
      runs.reduce(
        (first, run) => run.reduce((least, { firstTimeUs }) => Math.min(least, firstTimeUs), first),
        Infinity,
      );
    const inOrder = [...epochs].map(([epochWord, runs]) => ({ epochWord, runs, startUs: startOf(runs) }));
    return inOrder.sort((a, b) => compareNumbers(a.startUs, b.startUs));
  }

  /** Offsets of an epoch's wanted blocks in order. A file is read only when its blocks may be next. */
  async *#locateIn(
    runs: readonly FileEntry[][],
    { range, bySeq }: { range: BlockRange; bySeq: boolean },
  ): AsyncGenerator<Located> {
    const lowest = ({ lowSeq, lowUs }: FileSpan) => bySeq ? lowSeq : lowUs;
    const compare = (a: BlockLocation, b: BlockLocation) =>
      bySeq
        ? compareNumbers(a.seq, b.seq) || compareNumbers(a.timeUs, b.timeUs)
        : compareNumbers(a.timeUs, b.timeUs) || compareNumbers(a.seq, b.seq);
    const spans = runs.flatMap((run) => [...spansOf(run)]).filter((span) => mayHold(span, range));
    spans.sort((a, b) => compareNumbers(lowest(a), lowest(b)));
    let ready: Located[] = [];
    let at = 0;
    for (const span of spans) {
      for (let next = ready[at]; next && (bySeq ? next.seq : next.timeUs) < lowest(span); next = ready[++at]) {
        yield next;
      }
      const table = await this.#tables.of(span.file);
      const found = Array.from(table.select(range, span.end), (place) => ({ ...place, file: span.file }));
      ready = [...ready.slice(at), ...found].sort(compare);
      at = 0;
    }
    yield* ready.slice(at);
  }

  *#locateWritten(blocks: readonly WrittenBlock[]): Generator<Located> {
    for (const { path, offset, firstTimeUs, firstSeq } of blocks) {
      const file = this.#files.get(nameOf(path));
      if (file) yield { file, offset, bytes: 0, timeUs: firstTimeUs, seq: firstSeq };
    }
  }

  /** Reads a block: none, or the parts of it that are new. */
  async #read(
    { file, ...place }: Located,
    { reader, seen, range }: { reader: BlockReader; seen: SeenBlocks; range: BlockRange },
  ): Promise<EpochBlock[]> {
    if (file.isGone) {
      this.#noteGone(file);
      return [];
    }
    try {
      const { epochWord } = file.header;
      if (range.epochWord !== undefined && range.epochWord !== epochWord) return [];
      const block = await reader.read(file.path, place);
      if (!isWanted(block, { epochWord, range })) return [];
      return seen.fresh(block, epochWord).map((fresh) => ({ block: fresh, epochWord }));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) {
        if (await this.#isAway()) this.#faults.noteUnread(file.path, error);
        else this.#noteGone(file);
      } else this.#faults.noteBlock(file, place.offset, error);
      return [];
    }
  }

  async #addFile(path: string): Promise<void> {
    this.#faults.noteRead(path);
    try {
      const head = await this.#readHead(path);
      if (head?.first) return void this.#add(path, { ...head, first: head.first, isWritten: false });
      // The first block's length is damaged: the index at the end of the file may lead past it.
      if (head) {
        // Nobody gets to see it before it is known where it begins.
        const file = newEntry(path, { ...head, first: { timeUs: NaN, seq: NaN }, isWritten: false });
        const table = await this.#tables.of(file);
        this.#tables.forget(file);
        // The disk did not give the rest of it: what is in it nobody knows.
        if (this.#faults.unread.has(path)) return;
        const { value: first } = table.select({}, { timeUs: Infinity, seq: Infinity }).next();
        if (first) return void this.#add(path, { ...head, first, isWritten: false });
      }
      this.#faults.notePassedOver(path, new BlockError("size", "it has no whole block"));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && await this.#isAway()) this.#faults.noteUnread(path, error);
      else this.#faults.notePassedOver(path, error);
    }
  }

  async #readHead(path: string): Promise<FileHead | undefined> {
    using file = await Deno.open(path, { read: true });
    const { size } = await file.stat();
    return await readHead((offset, length) => readFileAt(file, { offset, length }), size);
  }

  #add(path: string, known: KnownFile): FileEntry {
    const file = newEntry(path, known);
    this.#files.set(file.name, file);
    this.#order = undefined;
    return file;
  }

  #forget(file: FileEntry): void {
    file.isGone = true;
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

  #noteGone(file: FileEntry): void {
    if (!file.isGone) this.#forget(file);
    this.#faults.noteRead(file.path);
    this.#faults.noteGone(file);
  }
}

function newEntry(path: string, { first, ...known }: KnownFile): FileEntry {
  const rest = { table: undefined, bounds: undefined, isGone: false };
  return { path, name: nameOf(path), ...known, firstTimeUs: first.timeUs, firstSeq: first.seq, ...rest };
}

function placed({ file: { path }, offset, bytes, seq }: Located): PlacedBlock {
  return { path, offset, bytes, seq };
}
