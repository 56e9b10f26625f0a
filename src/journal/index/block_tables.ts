import { BlockTable } from "./block_table.ts";
import type { ClockSpans } from "../clock/clock_spans.ts";
import { type IndexedBlock, locateBlocks, readingAhead } from "./file_index.ts";
import type { FileEntry } from "../file/order.ts";
import { type OpenSource, SourceUnavailableError } from "../file/source.ts";
import type { IndexFaults } from "./index_faults.ts";
import type { WrittenBlock } from "../writer/journal_writer_types.ts";

/** Options of {@linkcode BlockTables}. */
export interface BlockTablesOptions {
  /** Gets the faults of files. */
  faults: IndexFaults;
  open: OpenSource;
  /** Corrections of recorded times. */
  clock: ClockSpans;
  /** Returns true if another file system is mounted in place of the directory: a missing file is not deleted then. */
  isUnmounted: () => Promise<boolean>;
  /** Called for a deleted file. */
  onDeleted: (file: FileEntry) => void;
}

/** Maximum number of block locations in memory, 40 bytes each: half a year at 200 frames/s. */
const MAX_CACHED_BLOCKS = 262_144;
/** A file without damage. */
const WHOLE: Awaited<ReturnType<typeof locateBlocks>> = { damaged: [], end: 0, state: "closed" };
/** Size of the read buffer for compressed files, bytes. */
const WINDOW_BYTES = 262_144;

/**
 * Block tables of files, cached. A table is read on first use, once for concurrent callers; written blocks are added to it.
 */
export class BlockTables {
  readonly #options: BlockTablesOptions;
  /** Files whose table is in memory, least recently used first. */
  readonly #cached = new Set<FileEntry>();
  /** Grows when tables that are being read are outdated. */
  #generation = 0;
  readonly #loading = new Map<FileEntry, { table: Promise<BlockTable>; written: WrittenBlock[] }>();

  constructor(options: BlockTablesOptions) {
    this.#options = options;
  }

  /** Table of a file; empty if the file cannot be read. @throws {SourceUnavailableError} */
  async of(file: FileEntry): Promise<BlockTable> {
    this.#cached.delete(file);
    if (file.table) {
      this.#cached.add(file);
      return file.table;
    }
    const loading = this.#loading.get(file);
    if (loading) return await loading.table;
    const written: WrittenBlock[] = [];
    const table = this.#load(file, written);
    this.#loading.set(file, { table, written });
    try {
      return await table;
    } finally {
      this.#loading.delete(file);
    }
  }

  /** Creates the table of a new file from its first block. */
  begin(file: FileEntry, first: WrittenBlock): void {
    file.table = this.#newTable(file);
    file.table.addWritten(first);
    this.#cached.add(file);
  }

  /** Adds a block that was written to a file. */
  add(file: FileEntry, block: WrittenBlock): void {
    file.table?.addWritten(block);
    this.#loading.get(file)?.written.push(block);
  }

  /** Drops the table of a file, also one that is being read, because times are corrected otherwise now. */
  outdate(file: FileEntry): void {
    this.#generation++;
    this.forget(file);
  }

  /** Drops the table of a file. */
  forget(file: FileEntry): void {
    file.table = undefined;
    this.#cached.delete(file);
  }

  #newTable({ header: { epochWord } }: FileEntry): BlockTable {
    const { clock } = this.#options;
    return new BlockTable((seq, timeUs) => clock.correct({ epochWord, seq, timeUs }));
  }

  async #load(file: FileEntry, written: readonly WrittenBlock[]): Promise<BlockTable> {
    const { faults, open, isUnmounted, onDeleted } = this.#options;
    const generation = this.#generation;
    try {
      using source = await open(file.path);
      const read = (offset: number, length: number) => source.read(offset, length);
      const { header } = file;
      const table = this.#newTable(file);
      const known = await source.blocks?.();
      for (const block of known ?? []) table.add(block);
      const found = known ? WHOLE : await locateBlocks(
        // Headers of compressed blocks are close together.
        header.compression === "none" ? read : readingAhead(read, WINDOW_BYTES),
        { header, fileBytes: source.bytes, onBlock: (block: IndexedBlock) => table.addFound(block), search: false },
      );
      for (const block of written) table.addWritten(block);
      faults.noteRead(file.path);
      faults.noteTable(file, found);
      if (!file.isDeleted && generation === this.#generation) this.#cache(file, table);
      return table;
    } catch (error) {
      if (error instanceof SourceUnavailableError) throw error;
      if (error instanceof Deno.errors.NotFound && !await isUnmounted()) onDeleted(file);
      else faults.noteUnread(file.path, error);
      return new BlockTable();
    }
  }

  /** Caches a table; evicts the least recently used ones beyond the limit. */
  #cache(file: FileEntry, table: BlockTable): void {
    file.table = table;
    this.#cached.add(file);
    let blocks = 0;
    for (const each of this.#cached) blocks += each.table?.count ?? 0;
    for (const each of this.#cached) {
      if (blocks <= MAX_CACHED_BLOCKS || each === file) return;
      blocks -= each.table?.count ?? 0;
      const { minTimeUs, minSeq, isAscending } = each.table ?? table;
      // The bounds of a file that is being written may still change.
      if (!each.isWritten) each.bounds = { minTimeUs, minSeq, isAscending };
      this.forget(each);
    }
  }
}
