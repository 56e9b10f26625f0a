import { BlockTable } from "./block_table.ts";
import { readFileAt, readingAhead } from "./file_index.ts";
import type { FileEntry } from "../file/order.ts";
import type { IndexFaults } from "./index_faults.ts";
import type { WrittenBlock } from "../writer/journal_writer_types.ts";
import { readTable } from "./read_table.ts";

/** What tables are read with. */
export interface BlockTablesOptions {
  /** Told of what cannot be read. */
  faults: IndexFaults;
  /** Returns true if another file system is mounted in place of the directory: a missing file is not deleted then. */
  isAway: () => Promise<boolean>;
  /** Called for a removed file. */
  onGone: (file: FileEntry) => void;
}

/** Maximum number of block locations in memory, 40 bytes each: half a year at 200 frames a second. */
const MAX_PLACED_BLOCKS = 262_144;
/** Bytes of a compressed file that are read at once to find its blocks. */
const WINDOW_BYTES = 262_144;

/**
 * Where the blocks of files are. It is read when first asked for, once for all who ask, and kept with the file while there
 * is room; blocks that are written meanwhile are added.
 */
export class BlockTables {
  readonly #options: BlockTablesOptions;
  /** Files whose table is in memory, the one used longest ago first. */
  readonly #kept = new Set<FileEntry>();
  readonly #loading = new Map<FileEntry, { table: Promise<BlockTable>; written: WrittenBlock[] }>();

  constructor(options: BlockTablesOptions) {
    this.#options = options;
  }

  /** Where the blocks of a file are, from memory or read now; no blocks where it cannot be read. */
  async of(file: FileEntry): Promise<BlockTable> {
    this.#kept.delete(file);
    if (file.table) {
      this.#kept.add(file);
      return file.table;
    }
    const under = this.#loading.get(file);
    if (under) return await under.table;
    const written: WrittenBlock[] = [];
    const table = this.#load(file, written);
    this.#loading.set(file, { table, written });
    try {
      return await table;
    } finally {
      this.#loading.delete(file);
    }
  }

  /** A file begins with this block: there is nothing to be read. */
  begin(file: FileEntry, first: WrittenBlock): void {
    file.table = new BlockTable();
    file.table.addWritten(first);
    this.#kept.add(file);
  }

  /** A file has one more block. */
  add(file: FileEntry, block: WrittenBlock): void {
    file.table?.addWritten(block);
    this.#loading.get(file)?.written.push(block);
  }

  /** A file is not there any more. */
  forget(file: FileEntry): void {
    file.table = undefined;
    this.#kept.delete(file);
  }

  async #load(file: FileEntry, written: readonly WrittenBlock[]): Promise<BlockTable> {
    const { faults, isAway, onGone } = this.#options;
    try {
      using opened = await Deno.open(file.path, { read: true });
      const read = (offset: number, length: number) => readFileAt(opened, { offset, length });
      const { size } = await opened.stat();
      // Compressed blocks lie close together, and so do their headers.
      const isClose = file.header.compression !== "none";
      const { table, faults: found } = await readTable(isClose ? readingAhead(read, WINDOW_BYTES) : read, {
        header: file.header,
        fileBytes: size,
      });
      for (const block of written) table.addWritten(block);
      faults.noteRead(file.path);
      faults.noteTable(file, found);
      if (!file.isGone) this.#keep(file, table);
      return table;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && !await isAway()) onGone(file);
      else faults.noteUnread(file.path, error);
      return new BlockTable();
    }
  }

  /** Caches a table; evicts the least recently used ones beyond the limit. */
  #keep(file: FileEntry, table: BlockTable): void {
    file.table = table;
    this.#kept.add(file);
    let blocks = 0;
    for (const each of this.#kept) blocks += each.table?.count ?? 0;
    for (const each of this.#kept) {
      if (blocks <= MAX_PLACED_BLOCKS || each === file) return;
      blocks -= each.table?.count ?? 0;
      const { minTimeUs, minSeq, isAscending } = each.table ?? table;
      // What is still written may yet get other bounds.
      if (!each.isWritten) each.bounds = { minTimeUs, minSeq, isAscending };
      each.table = undefined;
      this.#kept.delete(each);
    }
  }
}
