import { BlockError } from "../errors.ts";
import { JOURNAL_EXTENSION } from "../file/name.ts";
import { type KnownFile, newEntry } from "../file/order.ts";
import { type OpenSource, SourceUnavailableError } from "../file/source.ts";
import type { BlockTables } from "./block_tables.ts";
import { readHeadOf } from "./file_index.ts";
import type { IndexFaults } from "./index_faults.ts";

/** What {@linkcode readEntry} depends on. */
interface EntryContext {
  open: OpenSource;
  isUnmounted: () => Promise<boolean>;
  tables: BlockTables;
  faults: IndexFaults;
}

/**
 * Reads the beginning of a file, for its entry; undefined: it cannot be used, which `faults` reports.
 *
 * @throws {SourceUnavailableError}
 */
export async function readEntry(
  path: string,
  { open, isUnmounted, tables, faults }: EntryContext,
): Promise<KnownFile | undefined> {
  faults.noteRead(path);
  try {
    const head = await readHeadOf(path, open);
    if (head?.first) return { ...head, first: head.first, isWritten: false };
    // The length of the first block is damaged: the index at the end of the file may list others.
    if (head) {
      // Not added yet: its first block is unknown.
      const file = newEntry(path, { ...head, first: { timeUs: NaN, seq: NaN }, isWritten: false });
      const table = await tables.of(file);
      tables.forget(file);
      // A read error: the content is unknown.
      if (faults.unread.has(path)) return undefined;
      const { value: first } = table.select({}, { timeUs: Infinity, seq: Infinity }).next();
      if (first) return { ...head, first, isWritten: false };
    }
    faults.noteSkipped(path, new BlockError("size", "it has no complete block"));
  } catch (error) {
    if (error instanceof SourceUnavailableError) throw error;
    if (error instanceof Deno.errors.NotFound && await isUnmounted()) faults.noteUnread(path, error);
    else faults.noteSkipped(path, error);
  }
  return undefined;
}

/** Names of the journal files of a directory; none without a directory. */
export async function namesIn(directory: string | undefined): Promise<Set<string>> {
  const names = new Set<string>();
  if (directory === undefined) return names;
  for await (const { name, isFile } of Deno.readDir(directory)) {
    if (isFile && name.endsWith(JOURNAL_EXTENSION)) names.add(name);
  }
  return names;
}
