import type { Digests } from "./digest.ts";

/** Largest body of one object, bytes: bodies are held in memory. */
export const MAX_OBJECT_BYTES: number = 256 * 1024 * 1024;
/** Most entries of one page of a list; S3 has the same limit. */
export const PAGE_ENTRIES = 1000;

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. A body that was sent may be stored all the same. */
  signal?: AbortSignal | undefined;
}

/** What calls that send a body take. */
export interface PutOptions extends CallOptions {
  /**
   * Digests of the body, if the caller computed them when it made the body; the store refuses a body that does not match.
   * Default: computed when sending.
   */
  digests?: Digests | undefined;
}

/** A part of an object. */
export interface RangeOptions extends CallOptions {
  /** First byte, from 0. */
  offset: number;
  /** Bytes, at least 1. */
  length: number;
}

/** Which objects to list. */
export interface ListOptions extends CallOptions {
  /** Beginning of the keys; may end within a segment. Default: all. */
  prefix?: string | undefined;
  /** Only keys after this one, which need not exist. */
  after?: string | undefined;
  /** Most objects in all pages together. Default: all. */
  limit?: number | undefined;
}

/** An object without its body. */
export interface ObjectInfo {
  /** Its key. */
  key: string;
  /** Bytes. */
  size: number;
  /** When it was stored, by the store's clock, milliseconds since 1970. S3 rounds to seconds. */
  lastModifiedMs: number;
}

/**
 * A flat set of immutable objects, each with a key. What a call reported as stored survives a power cut.
 *
 * A key is segments separated by slashes; see `checkKey`. No key may be a folder of another: `a` and `a/b` exclude each
 * other. Keys are ordered by the bytes of their UTF-8.
 *
 * @throws {StoreError} every call; its `kind` says what to do. `away` after the attempts that the store makes itself.
 * @throws {RangeError} a key, range or body that no store takes
 */
export interface ObjectStore {
  /** Where the objects are, for messages; without secrets. */
  readonly url: string;
  /**
   * Stores a new object; never changes one that exists. Of several callers with one key, exactly one is answered
   * `stored`, also if their bodies are equal. After an error of kind `away`, and after an abort, the object may be there:
   * read it.
   */
  putIfAbsent(key: string, body: Uint8Array, options?: PutOptions): Promise<"stored" | "exists">;
  /** Stores an object, in place of one that exists. Only for hints: the last of several writers is not known. */
  put(key: string, body: Uint8Array, options?: PutOptions): Promise<void>;
  /**
   * Reads an object.
   *
   * @throws {StoreError} `missing`; `damaged` if its length or checksum is wrong
   */
  get(key: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Reads a part of an object: less than `length` at its end, nothing after its end. Checks the length; a checksum
   * covers whole objects only.
   *
   * @throws {StoreError} `missing`; `damaged` if the length is wrong
   */
  getRange(key: string, options: RangeOptions): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Lists objects in the order of their keys, in pages of up to {@linkcode PAGE_ENTRIES}. Several pages are no snapshot:
   * an object stored or deleted meanwhile may be listed or not.
   */
  list(options?: ListOptions): AsyncIterable<ObjectInfo[]>;
  /** Looks an object up; undefined if there is none. */
  head(key: string, options?: CallOptions): Promise<ObjectInfo | undefined>;
  /** Deletes objects, any number; those that do not exist count as deleted. After an error some are. */
  delete(keys: readonly string[], options?: CallOptions): Promise<void>;
  /** Closes idle connections. */
  [Symbol.dispose](): void;
}
