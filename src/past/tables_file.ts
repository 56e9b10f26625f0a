import { gunzipSync, gzipSync } from "node:zlib";
import { AtomicFile, errorText, type Logger, tryRemoveSync } from "../base/mod.ts";
import { MAX_TABLES_BYTES } from "../broker/mod.ts";
import { JOURNAL_FILE_MODE, tablesOf } from "../journal/mod.ts";
import { PastTables, type PastTablesOptions } from "./tables.ts";

/** Maximum size of a file, unpacked: devices and values of four buses take half of it. */
const MAX_BYTES = 4 * MAX_TABLES_BYTES;

/**
 * Reads the tables at the start of a journal file, which are stored beside it. Undefined if there are none; if they cannot be
 * read, a line in the log says so: they are made again.
 *
 * @param path of the journal file
 */
export async function readTablesFile(
  path: string,
  { log, ...options }: PastTablesOptions & { log: Logger },
): Promise<PastTables | undefined> {
  const file = fileOf(path);
  try {
    const bytes = await file.read();
    if (!bytes) return undefined;
    return PastTables.restore(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }).toString(), options);
  } catch (error) {
    // What unpacking throws has no type of its own.
    if (error instanceof Error) log.warn("stored tables not readable", { file: file.path, error: errorText(error) });
    else throw error;
    return undefined;
  }
}

/** Stores the tables at the start of a journal file. @throws {FileError} */
export async function writeTablesFile(path: string, tables: PastTables): Promise<void> {
  await fileOf(path).write(gzipSync(tables.encode()));
}

/**
 * Removes the tables at the start of a journal file, if there are any: they are made again. At once, so that they are gone when
 * the corrections are stored that have outdated them.
 */
export function removeTablesFile(path: string): void {
  tryRemoveSync(tablesOf(path));
}

function fileOf(path: string): AtomicFile {
  const at = path.lastIndexOf("/");
  const name = tablesOf(path.slice(at + 1));
  return new AtomicFile(path.slice(0, at), { name, mode: JOURNAL_FILE_MODE, maxBytes: MAX_BYTES });
}
