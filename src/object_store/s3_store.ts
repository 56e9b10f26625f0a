import type { BackoffOptions } from "../base/mod.ts";
import { digestBoth, type Digests } from "./digest.ts";
import { checkBody, checkKey, checkRange } from "./key.ts";
import { DELETE_KEYS, type S3Body, S3Calls, type S3CallsOptions, type S3Description } from "./s3_calls.ts";
import { s3Url, statusOf } from "./s3_errors.ts";
import { S3Requests } from "./s3_requests.ts";
import {
  type CallOptions,
  type ListOptions,
  type ObjectInfo,
  type ObjectStore,
  PAGE_ENTRIES,
  type PutOptions,
  type RangeOptions,
} from "./store.ts";
import { StoreError } from "./store_error.ts";

/** Where the objects are, and limits of requests. */
export interface S3StoreOptions extends S3CallsOptions {
  /** Prefix of all keys, without a slash at its end; may be empty. */
  prefix: string;
  /** Longest time of one attempt, request and answer with their bodies, milliseconds. */
  requestTimeoutMs: number;
  /** Most attempts for one request; those after the first only if the store was `away`. */
  attempts: number;
  /** Pauses between attempts; each is varied by half, so that many clients do not return at the same time. */
  retry: BackoffOptions;
}

const PRECONDITION_FAILED = 412;
const RANGE_NOT_SATISFIABLE = 416;

/**
 * Objects in a bucket of an S3-compatible store.
 *
 * The store checks MD5 and SHA-256 of each body. `get` checks the SHA-256, which is kept with the object, or the `ETag`
 * of objects of other programs, where it is their MD5; else only the length. An answer that
 * an object was stored is believed if its `ETag` is the MD5 of the body, which nothing computes that has not seen the
 * body. Without that (encryption with KMS keys, or a proxy that answers itself) a second request looks the object up.
 * Each object also names the call that wrote it: when an answer was lost and the next attempt finds an object there, it
 * is known whether the first attempt stored it.
 */
export class S3Store implements ObjectStore {
  /** `s3://BUCKET/PREFIX`. */
  readonly url: string;
  readonly #calls: S3Calls;
  readonly #requests: S3Requests;
  readonly #prefix: string;

  private constructor(calls: S3Calls, options: S3StoreOptions) {
    this.#calls = calls;
    this.#prefix = options.prefix === "" ? "" : `${options.prefix}/`;
    this.url = s3Url(options);
    const { requestTimeoutMs: timeoutMs, attempts, retry } = options;
    this.#requests = new S3Requests({ url: this.url, timeoutMs, attempts, retry });
  }

  /**
   * Opens a store: loads the client and finds the credentials. Sends nothing to the bucket; `checkStore` does.
   *
   * @throws {StoreError} `denied`: there are no credentials; `unsuitable`: no region, or the client cannot be loaded
   */
  static async open(options: S3StoreOptions): Promise<S3Store> {
    return new S3Store(await S3Calls.open(options), options);
  }

  /** See {@linkcode ObjectStore}. */
  async putIfAbsent(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<"stored" | "exists"> {
    const { body, digests } = await this.#prepare(key, bytes, options);
    const { signal } = options;
    const etag = await this.#requests.send({
      action: `store "${key}" in`,
      signal,
      send: async (signal) => {
        try {
          return await this.#calls.put(this.#prefix + key, { ...body, isNew: true, signal });
        } catch (error) {
          if (statusOf(error) === PRECONDITION_FAILED) return { exists: true };
          throw error;
        }
      },
    });
    if (etag === digests.md5Hex) return "stored";
    const found = await this.#describe(key, signal);
    if (isWrittenBy(found, body)) return "stored";
    if (found || typeof etag === "object") return "exists";
    throw this.#notKept(key);
  }

  /** See {@linkcode ObjectStore}. */
  async put(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<void> {
    const { body, digests } = await this.#prepare(key, bytes, options);
    const etag = await this.#requests.send({
      action: `store "${key}" in`,
      signal: options.signal,
      send: (signal) => this.#calls.put(this.#prefix + key, { ...body, isNew: false, signal }),
    });
    if (etag === digests.md5Hex) return;
    if (!isWrittenBy(await this.#describe(key, options.signal), body)) throw this.#notKept(key);
  }

  /** See {@linkcode ObjectStore}. */
  async get(key: string, { signal }: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    checkKey(key);
    const action = `read "${key}" in`;
    const { bytes, sha256Hex, md5Hex } = await this.#requests.send({
      action,
      signal,
      send: (signal) => this.#calls.get(this.#prefix + key, { signal }),
    });
    const digests = await digestBoth(bytes);
    const isIntact = sha256Hex === undefined
      ? md5Hex === undefined || md5Hex === digests.md5Hex
      : sha256Hex === digests.sha256Hex;
    if (!isIntact) {
      throw new StoreError(`Cannot ${action} ${this.url}: the bytes do not match their checksum`, { kind: "damaged" });
    }
    return bytes;
  }

  /** See {@linkcode ObjectStore}. */
  async getRange(key: string, { offset, length, signal }: RangeOptions): Promise<Uint8Array<ArrayBuffer>> {
    checkKey(key);
    checkRange({ offset, length });
    const action = `read "${key}" in`;
    const found = await this.#requests.send({
      action,
      signal,
      send: async (signal) => {
        try {
          return await this.#calls.get(this.#prefix + key, { range: `bytes=${offset}-${offset + length - 1}`, signal });
        } catch (error) {
          if (statusOf(error) === RANGE_NOT_SATISFIABLE) return undefined;
          throw error;
        }
      },
    });
    if (!found) return new Uint8Array();
    const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(found.contentRange ?? "") ?? [];
    if (Number(first) === offset && found.bytes.length === Math.min(length, Number(size) - offset)) return found.bytes;
    const why = `asked for ${length} bytes from ${offset}, found ${found.bytes.length} as "${
      found.contentRange ?? ""
    }"`;
    throw new StoreError(`Cannot ${action} ${this.url}: ${why}`, { kind: "damaged" });
  }

  /** See {@linkcode ObjectStore}. */
  async *list({ prefix = "", after = "", limit = Infinity, signal }: ListOptions = {}): AsyncGenerator<ObjectInfo[]> {
    let [left, last] = [limit, after];
    while (left > 0) {
      const { entries, isLast } = await this.#requests.send({
        action: `list "${prefix}" in`,
        signal,
        send: (signal) =>
          this.#calls.list({
            prefix: this.#prefix + prefix,
            after: last === "" ? "" : this.#prefix + last,
            limit: Math.min(PAGE_ENTRIES, left),
            signal,
          }),
      });
      const page = entries.map((info) => ({ ...info, key: info.key.slice(this.#prefix.length) }));
      if (page.length > 0) yield page;
      left -= page.length;
      last = page.at(-1)?.key ?? last;
      if (isLast) return;
    }
  }

  /** See {@linkcode ObjectStore}. */
  async head(key: string, { signal }: CallOptions = {}): Promise<ObjectInfo | undefined> {
    const found = await this.#describe(checkKey(key), signal);
    return found && { ...found.info, key };
  }

  /** See {@linkcode ObjectStore}. */
  async delete(keys: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    keys.forEach(checkKey);
    for (let at = 0; at < keys.length; at += DELETE_KEYS) {
      const batch = keys.slice(at, at + DELETE_KEYS).map((key) => this.#prefix + key);
      await this.#requests.send({
        action: "delete objects in",
        signal,
        send: async (signal) => {
          const [first, ...others] = await this.#calls.delete(batch, signal);
          if (!first) return;
          const count = others.length === 0 ? "" : ` (and ${others.length} others)`;
          const kind = /^(?:InternalError|SlowDown|ServiceUnavailable)$/.test(first.code)
            ? "away"
            : first.code === "AccessDenied"
            ? "denied"
            : "unsuitable";
          throw new StoreError(`Cannot delete objects in ${this.url}: ${first.why}${count}`, { kind });
        },
      });
    }
  }

  /** Closes idle connections. */
  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
  }

  async #prepare(
    key: string,
    bytes: Uint8Array,
    { digests: given, signal }: PutOptions,
  ): Promise<{ body: S3Body; digests: Digests }> {
    checkKey(key);
    checkBody(bytes);
    signal?.throwIfAborted();
    const digests = given ?? await digestBoth(bytes);
    const writer = crypto.randomUUID();
    return { digests, body: { ...digests, content: bytes, writer } };
  }

  async #describe(key: string, signal: AbortSignal | undefined): Promise<S3Description | undefined> {
    const send = async (signal: AbortSignal) =>
      // The first answer has no body that would say which of the two is missing.
      await this.#calls.head(this.#prefix + key, signal) ?? await this.#calls.requireBucket(signal);
    return await this.#requests.send({ action: `look up "${key}" in`, signal, send });
  }

  #notKept(key: string): StoreError {
    const why = "the store answered that it has it, but does not have these bytes";
    return new StoreError(`Cannot store "${key}" in ${this.url}: ${why}`, { kind: "damaged" });
  }
}

/** Whether an object was written by this very call, and whole. */
function isWrittenBy(found: S3Description | undefined, { size, sha256Hex, writer }: S3Body): boolean {
  return found !== undefined && found.writer === writer && found.sha256Hex === sha256Hex && found.info.size === size;
}
