import { pause } from "./clock.ts";
import { FileError } from "./file_error.ts";

/** The locked file. It is never removed: otherwise two processes could hold locks on different files. */
const DEFAULT_LOCK_FILE = ".lock";
/** Only the owner has access. */
const PRIVATE_MODE = 0o700;

/** A directory locked by this process until the lock is closed or the process ends in any way. */
export interface DirectoryLock extends Disposable {
  /** The directory. */
  readonly path: string;
  /** Releases the lock. May be called twice. */
  close(): void;
}

/** Options of {@linkcode lockDirectory}. */
export interface LockOptions {
  /** Name of the directory in messages, default `directory`. */
  what?: string;
  /** Permissions of a new directory, default 0700. */
  mode?: number;
  /** Name of the locked file, default `.lock`: one directory can have several locks. */
  file?: string;
}

/**
 * Locks a directory for this process, and creates it if it is missing.
 *
 * @throws {FileError} another process holds the lock, or the directory cannot be created or written
 */
export async function lockDirectory(
  path: string,
  { what = "directory", mode = PRIVATE_MODE, file: name = DEFAULT_LOCK_FILE }: LockOptions = {},
): Promise<DirectoryLock> {
  let file: Deno.FsFile | undefined;
  const close = () => {
    file?.close();
    file = undefined;
  };
  try {
    await Deno.mkdir(path, { recursive: true, mode });
    file = await Deno.open(`${path}/${name}`, { read: true, write: true, create: true });
    // Not `lock()`: it blocks the whole program until the other process ends.
    if (!await tryLock(file)) throw new Error("it is used by another process");
  } catch (cause) {
    close();
    throw new FileError(`use the ${what}`, { path, cause });
  }
  return { path, close, [Symbol.dispose]: close };
}

const TRIES = 11;
const TRY_EVERY_MS = 50;

/**
 * Tries to lock for half a second. A program being started inherits its parent's open files for a moment, and with them a
 * lock that the parent has released.
 */
async function tryLock(file: Deno.FsFile): Promise<boolean> {
  for (let tries = 1; tries < TRIES; tries++) {
    if (await file.tryLock(true)) return true;
    await pause(TRY_EVERY_MS);
  }
  return await file.tryLock(true);
}
