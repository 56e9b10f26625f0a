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
  readonly #target: TargetFile;
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
    this.#target = { directory, name, mode };
    this.#maxBytes = maxBytes;
  }

  /** See {@linkcode DurableFile}. @throws {FileError} the file exists and cannot be read */
  read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return readBounded(this.path, this.#maxBytes);
  }

  /** See {@linkcode DurableFile}. @throws {FileError} its `content` tells whether the old content is certainly intact */
  write(content: Uint8Array | string): Promise<void> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
    const done = this.#lastWrite.then(() => replaceFile(this.#target, (file) => writeAll(file, bytes)));
    this.#lastWrite = done.catch(() => {});
    return done;
  }
}

/** A file in a directory, with its permissions. */
export interface TargetFile {
  /** Existing directory. */
  directory: string;
  /** Name in it. */
  name: string;
  /** Permissions, such as 0o640. */
  mode: number;
}

/**
 * Replaces a file as a whole. Resolves when the new content is synced to disk. Uses the file `.NAME.tmp`, and never opens an
 * existing one, which could be a link planted by somebody else.
 *
 * @param write writes the content
 * @throws {FileError} its `content` tells whether the old content is certainly intact
 */
export async function replaceFile<T>(
  { directory, name, mode }: TargetFile,
  write: (file: Deno.FsFile) => Promise<T>,
): Promise<T> {
  const [path, temporary] = [`${directory}/${name}`, `${directory}/.${name}.tmp`];
  let content: FileError["content"] = "untouched";
  try {
    const result = await writeNew(temporary, { mode, write });
    content = "unknown";
    await Deno.rename(temporary, path);
    await syncDirectory(directory);
    return result;
  } catch (cause) {
    await removeIfExists(temporary).catch(() => {});
    throw new FileError("write", { path, cause, content });
  }
}

async function writeNew<T>(
  path: string,
  { mode, write }: { mode: number; write: (file: Deno.FsFile) => Promise<T> },
): Promise<T> {
  using file = await createNew(path, mode);
  const result = await write(file);
  await file.sync();
  return result;
}

/** Creates a file, in place of one that a crash has left. */
async function createNew(path: string, mode: number): Promise<Deno.FsFile> {
  const options = { write: true, createNew: true, mode };
  try {
    return await Deno.open(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    await Deno.remove(path);
    return await Deno.open(path, options);
  }
}

/** Writes all bytes. @throws {Error} error of the system */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
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

/** Removes a file if it exists. @throws {Error} error of the system */
export async function removeIfExists(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Removes a file if it exists and can be removed. */
export function tryRemoveSync(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It does not exist, or the disk is read-only.
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
