import { FileError } from "./file_error.ts";

/** Larger files are rejected: the server does not write such files. */
const DEFAULT_MAX_BYTES = 1024 * 1024;
/** Only the owner can read the file. */
const DEFAULT_MODE = 0o600;

/** A small file that is replaced as a whole: after a crash at any moment it holds either the old or the new content. */
export interface DurableFile {
  /** Path of the file. */
  readonly path: string;
  /**
   * Reads the whole file; undefined when it does not exist.
   *
   * @throws {FileError} the file exists and cannot be read
   */
  read(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /**
   * Replaces the content. Resolves when it is synced to disk. Calls are served one after another.
   *
   * @throws {FileError} its `content` tells whether the old content is certainly intact
   */
  write(content: Uint8Array | string): Promise<void>;
}

/** A {@linkcode DurableFile} on disk. Also uses the file `.NAME.tmp` in the same directory. */
export class AtomicFile implements DurableFile {
  /** Path of the file. */
  readonly path: string;
  readonly #directory: string;
  readonly #temporary: string;
  readonly #mode: number;
  readonly #maxBytes: number;
  #lastWrite: Promise<void> = Promise.resolve();

  /**
   * Refers to a file in an existing directory; nothing is read or written yet.
   *
   * @param options.mode permissions of the file, default 0600
   * @param options.maxBytes larger files are not read, default 1 MiB
   */
  constructor(
    directory: string,
    { name, mode = DEFAULT_MODE, maxBytes = DEFAULT_MAX_BYTES }: { name: string; mode?: number; maxBytes?: number },
  ) {
    this.path = `${directory}/${name}`;
    this.#directory = directory;
    this.#temporary = `${directory}/.${name}.tmp`;
    this.#mode = mode;
    this.#maxBytes = maxBytes;
  }

  /** See {@linkcode DurableFile}. @throws {FileError} the file exists and cannot be read */
  read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return readBounded(this.path, this.#maxBytes);
  }

  /** See {@linkcode DurableFile}. @throws {FileError} its `content` tells whether the old content is certainly intact */
  write(content: Uint8Array | string): Promise<void> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
    const done = this.#lastWrite.then(() => this.#replace(bytes));
    this.#lastWrite = done.catch(() => {});
    return done;
  }

  async #replace(bytes: Uint8Array): Promise<void> {
    try {
      await removeIfExists(this.#temporary);
      await writeNew(this.#temporary, { bytes, mode: this.#mode });
    } catch (cause) {
      await removeIfExists(this.#temporary).catch(() => {});
      throw new FileError("write", { path: this.path, cause });
    }
    try {
      await Deno.rename(this.#temporary, this.path);
      await syncDirectory(this.#directory);
    } catch (cause) {
      throw new FileError("write", { path: this.path, cause, content: "unknown" });
    }
  }
}

/**
 * Syncs a directory to disk, so that created, renamed and removed files survive a power cut.
 *
 * @throws {Error} error of the system
 */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open directories; its file system journals them.
  if (Deno.build.os === "windows") return;
  using directory = await Deno.open(path);
  await directory.sync();
}

/** Creates the file and never opens an existing one, which could be a link planted by somebody else. */
async function writeNew(path: string, { bytes, mode }: { bytes: Uint8Array; mode: number }): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode });
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  await file.sync();
}

/** Removes a file if it exists. @throws {Error} error of the system */
export async function removeIfExists(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Reads a whole file; undefined when it does not exist.
 *
 * @throws {FileError} it is larger than `maxBytes`, not a regular file, or cannot be read
 */
export async function readBounded(path: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile) throw new TypeError("it is not a regular file");
    if (size > maxBytes) throw new RangeError(`it has ${size} bytes, more than ${maxBytes}`);
    return await Deno.readFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw new FileError("read", { path, cause });
  }
}
