import { pause } from "./pause.ts";
import { FileError } from "./file_error.ts";

/** File in the directory that carries the lock. It stays: to remove it would let two in at once. */
const DEFAULT_LOCK_FILE = ".lock";
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
 * @param options.file name of the file that carries the lock: one directory may be held for several purposes
 * @throws {FileError} another process holds it, or it cannot be made or written
 */
export async function lockDirectory(
  path: string,
  { what = "directory", mode = PRIVATE_MODE, file = DEFAULT_LOCK_FILE }: Partial<LockOptions> = {},
): Promise<DirectoryLock> {
  const lock = await openLock(path, { what, mode, file });
  return { path, close: () => lock.close(), [Symbol.dispose]: () => lock.close() };
}

const TRIES = 11;
const TRY_EVERY_MS = 50;

/** How a directory is taken. */
export interface LockOptions {
  /** What to call it in messages. */
  what: string;
  /** Permissions of a directory that is made. */
  mode: number;
  /** Name of the file that carries the lock. */
  file: string;
}

async function openLock(path: string, { what, mode, file: name }: LockOptions): Promise<{ close: () => void }> {
  let file: Deno.FsFile | undefined;
  try {
    await Deno.mkdir(path, { recursive: true, mode });
    file = await Deno.open(`${path}/${name}`, { read: true, write: true, create: true });
    // Not `lock()`: it holds up the whole program until the other one ends.
    if (!await isLocked(file)) throw new Error("it is used by another process");
    return closeOnce(file);
  } catch (cause) {
    file?.close();
    throw new FileError(`use the ${what}`, { path, cause });
  }
}

/**
 * A program that is just being started holds for a moment what its parent had open, and with it a lock that the parent has
 * let go: so it is tried again for half a second.
 */
async function isLocked(file: Deno.FsFile): Promise<boolean> {
  for (let tries = 1; tries < TRIES; tries++) {
    if (await file.tryLock(true)) return true;
    await pause(TRY_EVERY_MS);
  }
  return await file.tryLock(true);
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
