import { dirname } from "node:path";
import { type DirectoryLock, FileError, lockDirectory, type Logger, syncDirectory } from "../../base/mod.ts";
import { statIfExists } from "../file/journal_file.ts";
import { JOURNAL_DIRECTORY_MODE } from "../file/name.ts";

/** Different from the state directory's lock file: both may be the same directory. */
const LOCK_FILE = ".journal.lock";

/** Options of a {@linkcode DirectoryGuard}. */
export interface DirectoryGuardOptions {
  log: Logger;
  /** Called when the directory is available again (mounted or created): its files may differ from before. */
  onReturn: () => Promise<void>;
}

/** Device and inode of a directory. */
type Identity = Pick<Deno.FileInfo, "dev" | "ino">;

/**
 * Locks the directory of a journal, and ensures that writes go to the same file system as at the start: if a memory card is
 * unmounted, the path leads to the file system below it. Creates a deleted directory again.
 */
export class DirectoryGuard {
  /** Path as configured. */
  readonly path: string;
  /** Path without symbolic links, resolved at the start. */
  readonly #realPath: string;
  readonly #options: DirectoryGuardOptions;
  #lock: DirectoryLock;
  #identity: Identity;
  #isUnmounted = false;
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
  static async open(path: string, options: DirectoryGuardOptions): Promise<DirectoryGuard> {
    const lock = await lockJournal(path);
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
  get isUnmounted(): boolean {
    return this.#isUnmounted;
  }

  /** True if another file system is mounted in place of the directory now. Read-only check. */
  async checkUnmounted(): Promise<boolean> {
    return await this.#obstacle(await statIfExists(this.path)) !== undefined;
  }

  /**
   * Call before every write. Creates the directory again if it was removed.
   *
   * @throws {Error} its file system is not mounted
   * @throws {FileError} the directory cannot be created, or is used by another process
   */
  async check(): Promise<void> {
    const found = await statIfExists(this.path);
    const isSame = found?.dev === this.#identity.dev && found.ino === this.#identity.ino;
    if (isSame && !this.#isUnmounted) return;
    const obstacle = await this.#obstacle(found);
    const { log, onReturn } = this.#options;
    // Until all following steps succeed. An open lock file would prevent unmounting its file system.
    this.#isUnmounted = true;
    this.#lock.close();
    if (obstacle !== undefined) throw new Error(obstacle);
    this.#lock = await lockJournal(found ? this.path : this.#realPath);
    await syncDirectory(dirname(this.#realPath));
    this.#identity = await Deno.stat(this.path);
    if (isSame) log.info("journal directory available again", { path: this.path });
    else {
      this.#removals++;
      log.error("journal directory was removed: created again", { path: this.path });
    }
    await onReturn();
    this.#isUnmounted = false;
  }

  /** Releases the lock. */
  close(): void {
    this.#lock.close();
  }

  /** Reason why the path must not be written; undefined if it may be. */
  async #obstacle(found: Identity | undefined): Promise<string | undefined> {
    const existing = found ?? await this.#nearest();
    if (existing?.dev === this.#identity.dev) return undefined;
    const path = `journal directory "${this.path}"`;
    return found
      ? `${path} is on another file system than at the start: is its card unmounted? A restart records on this one`
      : `${path} is missing, and its parent is on another file system than at the start: is its card unmounted?`;
  }

  /** Nearest existing ancestor directory; undefined if its drive is missing. */
  async #nearest(): Promise<Identity | undefined> {
    for (let path = this.#realPath; path !== dirname(path);) {
      path = dirname(path);
      const found = await statIfExists(path);
      if (found) return found;
    }
    return undefined;
  }
}

function lockJournal(path: string): Promise<DirectoryLock> {
  return lockDirectory(path, { what: "journal directory", mode: JOURNAL_DIRECTORY_MODE, file: LOCK_FILE });
}
