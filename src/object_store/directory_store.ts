import { errorText, removeIfExists, syncDirectory } from "../base/mod.ts";
import { inspect, walk } from "./directory_walk.ts";
import { digestBoth } from "./digest.ts";
import { checkBody, checkKey, checkRange } from "./key.ts";
import {
  type CallOptions,
  type ListOptions,
  MAX_OBJECT_BYTES,
  type ObjectInfo,
  type ObjectStore,
  PAGE_ENTRIES,
  type PutOptions,
  type RangeOptions,
} from "./store.ts";
import { StoreError, type StoreErrorKind } from "./store_error.ts";

/** Folder of files that are being written; no key begins with a dot. */
const TEMPORARY = ".tmp";
/** A temporary file of this age is left over from a crash, milliseconds. */
const ABANDONED_MS = 24 * 3600 * 1000;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Objects as files below a folder of a local disk; a key is the path. Several processes can use one folder. The file
 * system must have hard links. Keeps no checksums; deleting leaves empty folders.
 */
export class DirectoryStore implements ObjectStore {
  /** `file:///FOLDER`. */
  readonly url: string;
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
    this.url = `file://${root}`;
  }

  /**
   * Opens a store, creates its folder if it does not exist, and removes temporary files that are older than a day.
   *
   * @param root absolute path
   * @param options.isReadOnly nothing is created or removed: the folder must exist
   * @throws {StoreError} the folder cannot be created or read
   */
  static async open(root: string, { isReadOnly = false }: { isReadOnly?: boolean } = {}): Promise<DirectoryStore> {
    const store = new DirectoryStore(root.replace(/(?<=.)\/+$/, ""));
    await store.#attempt("open", "", async () => {
      if (isReadOnly) return await requireFolder(store.#root);
      await Deno.mkdir(`${store.#root}/${TEMPORARY}`, { recursive: true, mode: FOLDER_MODE });
      await removeAbandoned(`${store.#root}/${TEMPORARY}`);
    });
    return store;
  }

  /** See {@linkcode ObjectStore}. */
  putIfAbsent(key: string, body: Uint8Array, options: PutOptions = {}): Promise<"stored" | "exists"> {
    return this.#write(key, body, {
      ...options,
      publish: async (temporary, path) => {
        try {
          await Deno.link(temporary, path);
          return "stored";
        } catch (error) {
          if (error instanceof Deno.errors.AlreadyExists && (await Deno.stat(path)).isFile) return "exists";
          throw error;
        }
      },
    });
  }

  /** See {@linkcode ObjectStore}. */
  async put(key: string, body: Uint8Array, options: PutOptions = {}): Promise<void> {
    await this.#write(key, body, { ...options, publish: (temporary, path) => Deno.rename(temporary, path) });
  }

  /** See {@linkcode ObjectStore}. */
  get(key: string, { signal }: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read(key, { offset: 0, length: Infinity, signal });
  }

  /** See {@linkcode ObjectStore}. */
  async getRange(key: string, options: RangeOptions): Promise<Uint8Array<ArrayBuffer>> {
    checkRange(options);
    return await this.#read(key, options);
  }

  /** See {@linkcode ObjectStore}. */
  async *list({ prefix = "", after = "", limit = Infinity, signal }: ListOptions = {}): AsyncGenerator<ObjectInfo[]> {
    signal?.throwIfAborted();
    const found = walk(this.#root, { prefix, after, signal });
    let left = limit;
    while (left > 0) {
      const wanted = Math.min(PAGE_ENTRIES, left);
      const page = await this.#attempt("list", prefix, async () => {
        const entries: ObjectInfo[] = [];
        while (entries.length < wanted) {
          const { done, value } = await found.next();
          if (done) break;
          entries.push(value);
        }
        return entries;
      }, signal);
      if (page.length > 0) yield page;
      if (page.length < wanted) return;
      left -= page.length;
    }
  }

  /** See {@linkcode ObjectStore}. */
  async head(key: string, { signal }: CallOptions = {}): Promise<ObjectInfo | undefined> {
    checkKey(key);
    signal?.throwIfAborted();
    return await this.#attempt("look up", key, () => inspect(this.#root, key));
  }

  /** See {@linkcode ObjectStore}. */
  async delete(keys: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    keys.forEach(checkKey);
    const folders = new Set<string>();
    for (const key of keys) {
      signal?.throwIfAborted();
      await this.#attempt("delete", key, async () => {
        if (!await inspect(this.#root, key)) return;
        const path = `${this.#root}/${key}`;
        await removeIfExists(path);
        folders.add(path.slice(0, path.lastIndexOf("/")));
      });
    }
    for (const folder of folders) await this.#attempt("delete objects in", folder, () => syncDirectory(folder));
  }

  /** Does nothing. */
  [Symbol.dispose](): void {}

  async #write<T>(
    key: string,
    body: Uint8Array,
    { publish, digests, signal }: PutOptions & { publish: (temporary: string, path: string) => Promise<T> },
  ): Promise<T> {
    checkKey(key);
    checkBody(body);
    signal?.throwIfAborted();
    if (digests && (await digestBoth(body)).md5.toHex() !== digests.md5.toHex()) {
      throw new StoreError(`Cannot store "${key}" in ${this.url}: the body does not match its MD5`, {
        kind: "damaged",
      });
    }
    const temporary = `${this.#root}/${TEMPORARY}/${crypto.randomUUID()}`;
    const folders = foldersOf(this.#root, key);
    return await this.#attempt("store", key, async () => {
      try {
        await writeSynced(temporary, body);
        signal?.throwIfAborted();
        await Deno.mkdir(folders.at(-1) ?? this.#root, { recursive: true, mode: FOLDER_MODE });
        const result = await publish(temporary, `${this.#root}/${key}`);
        // All of them, and also if the object exists: another process may have created them and not synced them yet.
        for (const folder of folders.toReversed()) await syncDirectory(folder);
        return result;
      } finally {
        await removeIfExists(temporary);
      }
    }, signal);
  }

  async #read(
    key: string,
    { offset, length, signal }: RangeOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    checkKey(key);
    signal?.throwIfAborted();
    return await this.#attempt("read", key, async () => {
      // Also if the key is a folder, or has an object for a folder.
      if (!await inspect(this.#root, key)) throw new Deno.errors.NotFound("there is no such object");
      using file = await Deno.open(`${this.#root}/${key}`);
      const { size } = await file.stat();
      const bytes = Math.min(length, Math.max(0, size - offset));
      if (bytes > MAX_OBJECT_BYTES) throw new RangeError(`it has ${size} bytes, more than ${MAX_OBJECT_BYTES}`);
      const body = new Uint8Array(bytes);
      await file.seek(offset, Deno.SeekMode.Start);
      for (let at = 0; at < bytes;) {
        signal?.throwIfAborted();
        const count = await file.read(body.subarray(at));
        if (count === null) throw new StoreError(`"${key}" became shorter while it was read`, { kind: "damaged" });
        at += count;
      }
      return body;
    }, signal);
  }

  async #attempt<T>(action: string, what: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreError || signal?.aborted) throw error;
      const object = what === "" ? "" : ` "${what}" in`;
      throw new StoreError(`Cannot ${action}${object} ${this.url}: ${errorText(error)}`, {
        kind: kindOf(error),
        cause: error,
      });
    }
  }
}

/** Folders above an object, from the root down. */
function foldersOf(root: string, key: string): string[] {
  const folders = [root];
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) folders.push(`${root}/${key.slice(0, at)}`);
  return folders;
}

async function writeSynced(path: string, body: Uint8Array): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: FILE_MODE });
  for (let at = 0; at < body.length;) at += await file.write(body.subarray(at));
  await file.sync();
}

async function requireFolder(path: string): Promise<void> {
  if (!(await Deno.stat(path)).isDirectory) throw new Deno.errors.NotADirectory("Not a directory");
}

async function removeAbandoned(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    const { mtime } = await Deno.lstat(path);
    if (mtime && Date.now() - mtime.getTime() > ABANDONED_MS) await removeIfExists(path);
  }
}

function kindOf(error: unknown): StoreErrorKind {
  const { NotFound, PermissionDenied, NotCapable, AlreadyExists, IsADirectory, NotADirectory, NotSupported } =
    Deno.errors;
  if (error instanceof NotFound) return "missing";
  if (error instanceof PermissionDenied || error instanceof NotCapable) return "denied";
  if (error instanceof Error && "code" in error && error.code === "EROFS") return "denied";
  // A key that is a folder of another, or a file system without links.
  const isUnsuitable = [AlreadyExists, IsADirectory, NotADirectory, NotSupported, RangeError]
    .some((kind) => error instanceof kind);
  return isUnsuitable ? "unsuitable" : "away";
}
