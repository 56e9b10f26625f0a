import { FileError } from "./file_error.ts";

/** File in the directory that carries the lock. It stays: to remove it would let two in at once. */
const LOCK_FILE = ".lock";
/** What is kept there is nobody else's business. */
const PRIVATE_MODE = 0o700;

/** A directory held by this process until it is closed, or the process ends, however that happens. */
export interface DirectoryLock extends Disposable {
  /** The directory. */
  readonly path: string;
  /** Lets it go. May be called twice. */
  close(): void;
}

/**
 * Takes a directory for this process, and makes it when it is missing.
 *
 * @param options.what what to call it in messages, default `directory`
 * @param options.mode permissions of a directory that is made, default 0700
 * @throws {FileError} another process holds it, or it cannot be made or written
 */
export async function lockDirectory(
  path: string,
  { what = "directory", mode = PRIVATE_MODE }: { what?: string; mode?: number } = {},
): Promise<DirectoryLock> {
  const file = await openLock(path, { what, mode });
  return { path, close: () => file.close(), [Symbol.dispose]: () => file.close() };
}

async function openLock(path: string, { what, mode }: { what: string; mode: number }): Promise<{ close: () => void }> {
  let file: Deno.FsFile | undefined;
  try {
    await Deno.mkdir(path, { recursive: true, mode });
    file = await Deno.open(`${path}/${LOCK_FILE}`, { read: true, write: true, create: true });
    // Not `lock()`: it holds up the whole program until the other one ends.
    if (!await file.tryLock(true)) throw new Error("it is used by another process");
    return closeOnce(file);
  } catch (cause) {
    file?.close();
    throw new FileError(`use the ${what}`, { path, cause });
  }
}

function closeOnce(file: Deno.FsFile): { close: () => void } {
  let isOpen = true;
  return {
    close: () => {
      if (isOpen) file.close();
      isOpen = false;
    },
  };
}
