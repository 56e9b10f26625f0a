import { FileError } from "./file_error.ts";

/** Largest file that is read; a larger one is none of ours. */
const DEFAULT_MAX_BYTES = 1024 * 1024;
/** What is kept so is nobody else's business unless somebody says so. */
const DEFAULT_MODE = 0o600;

/** A small file that is replaced as a whole: after a crash at any moment it holds the old content or the new. */
export interface DurableFile {
  /** Where it is, for messages. */
  /** Where it is. */
  readonly path: string;
  /**
   * All of it; undefined when there is none.
   *
   * @throws {FileError} it is there and cannot be read
   */
  read(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /**
   * Replaces it. When this is done a power cut does not undo it. Calls are served one after another.
   *
   * @throws {FileError} its `content` says whether the old content is sure to be still there
   */
  write(content: Uint8Array | string): Promise<void>;
}

/** A {@linkcode DurableFile} of the file system. The name with a dot in front and `.tmp` behind is taken, too. */
export class AtomicFile implements DurableFile {
  /** Where it is. */
  readonly path: string;
  readonly #directory: string;
  readonly #temporary: string;
  readonly #mode: number;
  readonly #maxBytes: number;
  #lastWrite: Promise<void> = Promise.resolve();

  /**
   * Names a file in a directory that is there; nothing is touched yet.
   *
   * @param options.mode permissions of the file, default 0600
   * @param options.maxBytes a file larger than this is not read, default 1 MiB
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

  /** See {@linkcode DurableFile}. @throws {FileError} it is there and cannot be read */
  read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return readBounded(this.path, this.#maxBytes);
  }

  /** See {@linkcode DurableFile}. @throws {FileError} its `content` says whether the old content is sure to be still there */
  write(content: Uint8Array | string): Promise<void> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
    const done = this.#lastWrite.then(() => this.#replace(bytes));
    this.#lastWrite = done.catch(() => {});
    return done;
  }

  async #replace(bytes: Uint8Array): Promise<void> {
    try {
      await removeIfThere(this.#temporary);
      await writeNew(this.#temporary, { bytes, mode: this.#mode });
    } catch (cause) {
      await removeIfThere(this.#temporary).catch(() => {});
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
 * Makes what was created, renamed or removed in a directory survive a power cut.
 *
 * @throws {Error} as the system says it
 */
export async function syncDirectory(path: string): Promise<void> {
  // Windows opens no directories, and keeps them in its own log.
  if (Deno.build.os === "windows") return;
  using directory = await Deno.open(path);
  await directory.sync();
}

/** Created, never opened: whoever may write there could have put a link in its place. */
async function writeNew(path: string, { bytes, mode }: { bytes: Uint8Array; mode: number }): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode });
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  await file.sync();
}

/** Removes a file; one that is not there is as good. @throws {Error} as the system says it */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Reads a whole file; undefined where there is none.
 *
 * @throws {FileError} it is larger than `maxBytes`, no file, or cannot be read
 */
export async function readBounded(path: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile) throw new TypeError("it is no file");
    if (size > maxBytes) throw new RangeError(`it has ${size} bytes, more than ${maxBytes}`);
    return await Deno.readFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw new FileError("read", { path, cause });
  }
}
