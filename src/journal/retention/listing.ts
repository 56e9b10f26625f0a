import { FileError, removeIfExists, syncDirectory } from "../../base/mod.ts";
import { statIfExists } from "../file/journal_file.ts";
import {
  compareNames,
  JOURNAL_EXTENSION,
  SIDECAR_EXTENSION,
  sidecarOf,
  SIGNATURE_EXTENSION,
  signatureOf,
  STATEMENT_EXTENSION,
  statementOf,
  TABLES_EXTENSION,
  tablesOf,
} from "../file/name.ts";

/** Extension of the empty marker file: the journal file of that name is archived. */
const MARKER_EXTENSION = ".archived";

/** A journal file in its directory. */
export interface ListedFile {
  name: string;
  bytes: number;
  /** Size of the files that are made from it; 0 if there are none. */
  sidecarBytes: number;
  /** Paths of its statement and of the signature, as far as they are there. */
  evidence: string[];
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
      for (const each of sidecarsOf(name)) {
        if (names.has(each)) sidecarBytes += (await statIfExists(`${directory}/${each}`))?.size ?? 0;
      }
      const evidence = [statementOf(name), signatureOf(name)].filter((each) => names.has(each))
        .map((each) => `${directory}/${each}`);
      files.push({ name, bytes, sidecarBytes, evidence, modifiedMs: mtime?.getTime(), isArchived });
    }
    const isOldest = (name: string) => files.every((file) => compareNames(name, file.name) < 0);
    return { files, orphans: [...names].filter((name) => isOrphan(name, { names, isOldest })) };
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
    for (const each of sidecarsOf(path)) await removeIfExists(each);
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

/** Paths, or names, of the files that belong to a journal file. */
function sidecarsOf(path: string): string[] {
  return [sidecarOf(path), tablesOf(path), statementOf(path), signatureOf(path)];
}

/** A statement without a file is an orphan only if it precedes the oldest file: later ones prove that a file is missing. */
function isOrphan(
  name: string,
  { names, isOldest }: { names: ReadonlySet<string>; isOldest: (name: string) => boolean },
): boolean {
  for (const extension of [STATEMENT_EXTENSION, STATEMENT_EXTENSION + SIGNATURE_EXTENSION]) {
    const file = name.slice(0, -extension.length);
    if (name.endsWith(JOURNAL_EXTENSION + extension)) return !names.has(file) && isOldest(file);
  }
  for (const extension of [SIDECAR_EXTENSION, TABLES_EXTENSION]) {
    if (name.endsWith(extension)) return !names.has(name.slice(0, -extension.length) + JOURNAL_EXTENSION);
  }
  return name.endsWith(JOURNAL_EXTENSION + MARKER_EXTENSION) && !names.has(name.slice(0, -MARKER_EXTENSION.length));
}
