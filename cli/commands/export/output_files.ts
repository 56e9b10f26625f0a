import { FileError, removeIfExists, syncDirectory } from "@vessel/gateway/base";
import { SettingsError } from "../../program/program.ts";

/** Most files that are open at a time. */
export const MAX_OPEN_FILES = 64;

/** A file under its temporary name. */
interface Pending {
  path: string;
  temporary: string;
  /** Undefined: closed, as others were written since. */
  file: Deno.FsFile | undefined;
}

/**
 * Writes files in one directory. They get their names when all are complete, so that no partial file can be used. One write
 * runs while the caller prepares the next one.
 */
export class OutputFiles {
  readonly #directory: string;
  readonly #overwrite: boolean;
  /** By name; the open ones by their last use. */
  readonly #files = new Map<string, Pending>();
  readonly #open = new Set<Pending>();
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string, { overwrite }: { overwrite: boolean }) {
    this.#directory = directory;
    this.#overwrite = overwrite;
  }

  /**
   * Begins a file.
   *
   * @throws {SettingsError} it exists, and must not or cannot be overwritten
   * @throws {FileError} it cannot be written
   */
  async begin(name: string): Promise<void> {
    const path = `${this.#directory}/${name}`;
    await this.#requireFree(path);
    const pending: Pending = { path, temporary: `${this.#directory}/.${name}.tmp`, file: undefined };
    await attempt(path, async () => {
      await removeIfExists(pending.temporary);
      this.#files.set(name, pending);
      await this.#openFile(pending, { createNew: true });
    });
  }

  /**
   * Appends bytes to a file that was begun. Resolves when everything before them is written: they must not change until the
   * next call does.
   *
   * @throws {FileError} the write, or that of the call before, has failed
   */
  async append(name: string, bytes: Uint8Array): Promise<void> {
    const pending = this.#files.get(name);
    if (pending === undefined) throw new Error(`"${name}" was not begun`);
    await this.#writing;
    this.#writing = attempt(pending.path, () => this.#write(pending, bytes));
    // The next call reports the error.
    this.#writing.catch(() => {});
  }

  /** Completes and renames all files. After an error some may have been renamed. @throws as {@linkcode OutputFiles.append} */
  async finish(): Promise<void> {
    await this.#writing;
    for (const pending of this.#files.values()) {
      await attempt(pending.path, async () => {
        const file = await this.#openFile(pending, { append: true });
        await file.sync();
        this.#close(pending);
      });
    }
    for (const [name, { path, temporary }] of this.#files) {
      await this.#requireFree(path);
      await attempt(path, () => Deno.rename(temporary, path));
      this.#files.delete(name);
    }
    await attempt(this.#directory, () => syncDirectory(this.#directory));
  }

  /** Removes the files that were not renamed. */
  async abandon(): Promise<void> {
    await this.#writing.catch(() => {});
    for (const pending of this.#files.values()) {
      this.#close(pending);
      await removeIfExists(pending.temporary).catch(() => {});
    }
    this.#files.clear();
  }

  async #write(pending: Pending, bytes: Uint8Array): Promise<void> {
    const file = await this.#openFile(pending, { append: true });
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  }

  async #openFile(pending: Pending, options: Deno.OpenOptions): Promise<Deno.FsFile> {
    this.#open.delete(pending);
    pending.file ??= await Deno.open(pending.temporary, { write: true, ...options });
    this.#open.add(pending);
    const [oldest] = this.#open;
    if (oldest && this.#open.size > MAX_OPEN_FILES) this.#close(oldest);
    return pending.file;
  }

  #close(pending: Pending): void {
    pending.file?.close();
    pending.file = undefined;
    this.#open.delete(pending);
  }

  async #requireFree(path: string): Promise<void> {
    const found = await Deno.lstat(path).catch((cause) => {
      if (!(cause instanceof Deno.errors.NotFound)) throw new FileError("write", { path, cause });
    });
    if (found === undefined) return;
    if (!found.isFile) throw new SettingsError(`Cannot write "${path}": it is there, and is no regular file`);
    if (!this.#overwrite) {
      throw new SettingsError(`Cannot write "${path}": it is there already; -force overwrites it`);
    }
  }
}

async function attempt<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    throw new FileError("write", { path, cause });
  }
}
