import { FileError, removeIfExists, syncDirectory } from "../../base/mod.ts";
import { statIfExists } from "../file/journal_file.ts";
import { JOURNAL_EXTENSION, SIDECAR_EXTENSION, sidecarOf, TABLES_EXTENSION, tablesOf } from "../file/name.ts";

/** Extension of the empty marker file: the journal file of that name is archived. */
const MARKER_EXTENSION = ".archived";

/** A journal file in its directory. */
export interface ListedFile {
  name: string;
  bytes: number;
  /** Size of the files that are made from it; 0 if there are none. */
  sidecarBytes: number;
  /** Modification time, milliseconds since 1970; undefined if the system does not provide it. */
  modifiedMs: number | undefined;
  isArchived: boolean;
}

/** The journal files of a directory, and markers and sidecars without a file. */
export interface Listing {
  files: ListedFile[];
  orphans: string[];
}

/**
 * Lists the journal files of a directory, and markers and sidecars without a file.
 *
 * @throws {FileError} the directory cannot be read
 */
export async function listJournalFiles(directory: string): Promise<Listing> {
  try {
    const names = new Set<string>();
    for await (const { name, isFile } of Deno.readDir(directory)) if (isFile) names.add(name);
    const files: ListedFile[] = [];
    for (const name of names) {
      if (!name.endsWith(JOURNAL_EXTENSION)) continue;
      const info = await statIfExists(`${directory}/${name}`);
      if (info === undefined) continue;
      const { size: bytes, mtime } = info;
      const isArchived = names.has(name + MARKER_EXTENSION);
      let sidecarBytes = 0;
      for (const each of [sidecarOf(name), tablesOf(name)]) {
        if (names.has(each)) sidecarBytes += (await statIfExists(`${directory}/${each}`))?.size ?? 0;
      }
      files.push({ name, bytes, sidecarBytes, modifiedMs: mtime?.getTime(), isArchived });
    }
    return { files, orphans: [...names].filter((name) => isOrphan(name, names)) };
  } catch (cause) {
    throw new FileError("list the journal directory", { path: directory, cause });
  }
}

/**
 * Marks files as archived, durably.
 *
 * @throws {FileError} a marker could not be written
 */
export async function markArchived(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await attempt("mark as archived with", `${directory}/${name}${MARKER_EXTENSION}`, async (path) => {
      using marker = await Deno.open(path, { write: true, create: true });
      await marker.sync();
    });
  }
  if (names.length > 0) await syncDirectory(directory);
}

/**
 * Removes a journal file, then its marker and its sidecars. A marker or sidecar without a file is harmless and removed by a
 * later check; a file without its marker would be archived again.
 *
 * @throws {FileError} the file could not be removed
 */
export async function removeJournalFile(directory: string, name: string): Promise<void> {
  await attempt("delete", `${directory}/${name}`, async (path) => {
    await removeIfExists(path);
    await removeIfExists(path + MARKER_EXTENSION);
    for (const each of [sidecarOf(path), tablesOf(path)]) await removeIfExists(each);
  });
}

/** Sets the modification time of an undated file to now. @throws {FileError} it could not be set */
export async function dateFile(directory: string, { name, nowMs }: { name: string; nowMs: number }): Promise<void> {
  await attempt("date", `${directory}/${name}`, (path) => Deno.utime(path, nowMs / 1000, nowMs / 1000));
}

async function attempt(action: string, path: string, work: (path: string) => Promise<void>): Promise<void> {
  try {
    await work(path);
  } catch (cause) {
    throw new FileError(action, { path, cause });
  }
}

function isOrphan(name: string, names: ReadonlySet<string>): boolean {
  for (const extension of [SIDECAR_EXTENSION, TABLES_EXTENSION]) {
    if (name.endsWith(extension)) return !names.has(name.slice(0, -extension.length) + JOURNAL_EXTENSION);
  }
  return name.endsWith(JOURNAL_EXTENSION + MARKER_EXTENSION) && !names.has(name.slice(0, -MARKER_EXTENSION.length));
}
