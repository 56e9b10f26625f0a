import { compareKeys } from "./key.ts";
import type { ObjectInfo } from "./store.ts";

/** What to walk. */
export interface WalkOptions {
  prefix: string;
  /** Only keys after this one; empty: all. */
  after: string;
  signal?: AbortSignal | undefined;
}

/**
 * Files below a folder as objects, in the order of their keys. Holds the names of one folder and of those above it.
 *
 * @throws {Error} error of the system; a folder or file that is removed meanwhile is left out
 */
export async function* walk(root: string, options: WalkOptions): AsyncGenerator<ObjectInfo> {
  yield* walkFolder(root, { ...options, folder: "" });
}

/** @param folder path from the root with a slash at its end, or empty */
async function* walkFolder(
  root: string,
  { folder, ...options }: WalkOptions & { folder: string },
): AsyncGenerator<ObjectInfo> {
  const { prefix, after, signal } = options;
  for (const path of await entriesOf(root, folder)) {
    signal?.throwIfAborted();
    if (path.endsWith("/")) {
      const mayMatch = path.startsWith(prefix) || prefix.startsWith(path);
      if (mayMatch && (after.startsWith(path) || compareKeys(path, after) > 0)) {
        yield* walkFolder(root, { ...options, folder: path });
      }
    } else if (path.startsWith(prefix) && compareKeys(path, after) > 0) {
      const found = await inspect(root, path);
      if (found) yield found;
    }
  }
}

/**
 * Paths in a folder, sorted as the keys below them: those of folders end with a slash, so that `a-b` comes before what is
 * in `a`.
 */
async function entriesOf(root: string, folder: string): Promise<string[]> {
  const paths: string[] = [];
  try {
    for await (const { name, isDirectory, isFile } of Deno.readDir(`${root}/${folder}`)) {
      // No key begins with a dot: what does is a temporary file, or somebody else's.
      if (!name.startsWith(".") && (isDirectory || isFile)) paths.push(`${folder}${name}${isDirectory ? "/" : ""}`);
    }
  } catch (error) {
    if (folder === "" || !(error instanceof Deno.errors.NotFound)) throw error;
  }
  return paths.sort(compareKeys);
}

/** An object by its key; undefined if there is none. @throws {Error} error of the system */
export async function inspect(root: string, key: string): Promise<ObjectInfo | undefined> {
  try {
    const { isFile, size, mtime } = await Deno.stat(`${root}/${key}`);
    return isFile ? { key, size, lastModifiedMs: mtime?.getTime() ?? 0 } : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}
