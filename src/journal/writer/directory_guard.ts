import { dirname } from "node:path";
import { type DirectoryLock, FileError, lockDirectory, type Logger, syncDirectory } from "../../base/mod.ts";
import { JOURNAL_DIRECTORY_MODE } from "../file/name.ts";

/** A lock of its own: the state directory may be the same one. */
const LOCK_FILE = ".journal.lock";

/** How a directory is guarded. */
export interface DirectoryGuardOptions {
  log: Logger;
  /** Called when the directory is available again (mounted or created): its files may differ from before. */
  onReturn: () => Promise<void>;
}

/** Device and inode of a directory. */
type Identity = Pick<Deno.FileInfo, "dev" | "ino">;

/**
 * Holds the directory of a journal, and makes sure that what is written goes to the file system that it was on at the
 * start: not to the one below it when a card is unmounted. A directory that was removed is made again.
 */
export class DirectoryGuard {
  /** Path as configured. */
  readonly path: string;
  /** Path without symbolic links, resolved at the start. */
  readonly #realPath: string;
  readonly #options: DirectoryGuardOptions;
  #lock: DirectoryLock;
  #identity: Identity;
  #isAway = false;
  #removals = 0;

  private constructor(
    path: string,
    { lock, realPath, identity, options }: {
      lock: DirectoryLock;
      realPath: string;
      identity: Identity;
      options: DirectoryGuardOptions;
    },
  ) {
    this.path = path;
    this.#lock = lock;
    this.#realPath = realPath;
    this.#identity = identity;
    this.#options = options;
  }

  /**
   * Locks the directory for this process. Creates it if it is missing.
   *
   * @throws {FileError} the directory is used by another process, or cannot be written
   */
  static async take(path: string, options: DirectoryGuardOptions): Promise<DirectoryGuard> {
    const lock = await takeLock(path);
    try {
      const [realPath, identity] = await Promise.all([Deno.realPath(path), Deno.stat(path)]);
      return new DirectoryGuard(path, { lock, realPath, identity, options });
    } catch (cause) {
      lock.close();
      throw new FileError("use the journal directory", { path, cause });
    }
  }

  /** Number of times the directory was removed and created again. */
  get removals(): number {
    return this.#removals;
  }

  /** True if the last check found the directory unusable: its files are unavailable, not deleted. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** True if another file system is mounted in place of the directory now. Read-only check. */
  async looksAway(): Promise<boolean> {
    return await this.#obstacle(await identityOf(this.path)) !== undefined;
  }

  /**
   * Call before every write. Creates the directory again if it was removed.
   *
   * @throws {Error} its file system is not mounted
   * @throws {FileError} the directory cannot be made, or is used by another process
   */
  async check(): Promise<void> {
    const found = await identityOf(this.path);
    const isSame = found?.dev === this.#identity.dev && found.ino === this.#identity.ino;
    if (isSame && !this.#isAway) return;
    const obstacle = await this.#obstacle(found);
    const { log, onReturn } = this.#options;
    // Until all of what follows has succeeded. An open lock file would keep its file system from being unmounted.
    this.#isAway = true;
    this.#lock.close();
    if (obstacle !== undefined) throw new Error(obstacle);
    this.#lock = await takeLock(found ? this.path : this.#realPath);
    await syncDirectory(dirname(this.#realPath));
    this.#identity = await Deno.stat(this.path);
    if (isSame) log.info("journal directory is there again", { path: this.path });
    else {
      this.#removals++;
      log.error("journal directory was removed: made again", { path: this.path });
    }
    await onReturn();
    this.#isAway = false;
  }

  /** Releases the lock. */
  close(): void {
    this.#lock.close();
  }

  /** Reason why the path must not be written; undefined if it may be. */
  async #obstacle(found: Identity | undefined): Promise<string | undefined> {
    const there = found ?? await this.#nearest();
    if (there?.dev === this.#identity.dev) return undefined;
    const path = `journal directory "${this.path}"`;
    return found
      ? `${path} is on another file system than at the start: is its card unmounted? A restart records on this one`
      : `${path} is not there, and what is above it is another file system than at the start: is its card unmounted?`;
  }

  /** Nearest existing ancestor directory; undefined if its drive is missing. */
  async #nearest(): Promise<Identity | undefined> {
    for (let path = this.#realPath; path !== dirname(path);) {
      path = dirname(path);
      const found = await identityOf(path);
      if (found) return found;
    }
    return undefined;
  }
}

function takeLock(path: string): Promise<DirectoryLock> {
  return lockDirectory(path, { what: "journal directory", mode: JOURNAL_DIRECTORY_MODE, file: LOCK_FILE });
}

async function identityOf(path: string): Promise<Identity | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
