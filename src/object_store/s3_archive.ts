import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type BackoffOptions, FileError } from "../base/mod.ts";
import { digestBoth, type Digests } from "./digest.ts";
import { CONTINUE_WAIT_MS, S3Calls, type S3CallsOptions } from "./s3_calls.ts";
import { s3Url, statusOf } from "./s3_errors.ts";
import { type Progress, S3Requests } from "./s3_requests.ts";
import { isStoreError, StoreError } from "./store_error.ts";

/** Where the files go, and limits of requests. */
export interface S3ArchiveOptions extends S3CallsOptions {
  /** Such as `STANDARD_IA`; undefined: the bucket's default. */
  storageClass: string | undefined;
  /** Longest time without progress, milliseconds. */
  stallMs: number;
  /** Most attempts for one request. */
  attempts: number;
}

interface LocalFile extends Digests {
  path: string;
}

/** Largest body of one request, bytes; more would need a multipart upload. */
const MAX_FILE_BYTES = 5 * 1024 ** 3;
const CHUNK_BYTES = 64 * 1024;
const RETRY: BackoffOptions = { firstMs: 500, capMs: 10_000 };
/** Another writer stored it first, or is about to; or an own attempt did, whose answer was lost. */
const TAKEN_STATUSES = [409, 412];
const NOT_IMPLEMENTED = 501;

/** Copies whole files into a bucket of an S3-compatible store, as they are and of any size up to 5 GiB. */
export class S3Archive implements Disposable {
  readonly #url: string;
  readonly #calls: S3Calls;
  readonly #requests: S3Requests;
  readonly #storageClass: string | undefined;

  private constructor(calls: S3Calls, options: S3ArchiveOptions) {
    const { storageClass, stallMs: timeoutMs, attempts } = options;
    this.#url = s3Url(options);
    this.#calls = calls;
    this.#storageClass = storageClass;
    this.#requests = new S3Requests({ url: this.#url, timeoutMs, attempts, retry: RETRY });
  }

  /**
   * Loads the client and finds the credentials. Sends nothing to the bucket.
   *
   * @throws {StoreError} `denied`: there are no credentials; `unsuitable`: the client cannot be loaded
   */
  static async open(options: S3ArchiveOptions): Promise<S3Archive> {
    return new S3Archive(await S3Calls.open(options, { isOfFiles: true }), options);
  }

  /**
   * Ensures that an object with the bytes of a file exists; never overwrites one. `differs`: the key has an object with
   * other bytes. Reads the file twice: for its digests, which the store checks, and to send it.
   *
   * @param key segments separated by slashes, none of them empty, `.` or `..`
   * @throws {FileError} the file cannot be read
   * @throws {RangeError} it is larger than 5 GiB
   * @throws {StoreError} it could not be sent
   */
  async storeFile(path: string, key: string): Promise<"stored" | "differs"> {
    const file = await readDigests(path);
    const before = await this.#compare(key, file);
    if (before === "stored" || before === "differs") return before;
    let refusal: unknown;
    const etag = await this.#put(key, { file, isNew: true }).catch((error: unknown) => {
      const status = error instanceof StoreError ? statusOf(error.cause) ?? 0 : 0;
      // Some stores do not have If-None-Match.
      if (status === NOT_IMPLEMENTED && before === "missing") return this.#put(key, { file, isNew: false });
      if (!TAKEN_STATUSES.includes(status)) throw error;
      refusal = error;
      return undefined;
    });
    if (etag === file.md5Hex) return "stored";
    // Taken; or the ETag is no MD5: with KMS keys, and where a proxy answers itself.
    const after = await this.#compare(key, file);
    if (after === "stored" || after === "differs") return after;
    if (refusal) throw refusal;
    if (after === "unknown") return "stored";
    const why = "the store answered that it has it, but there is no such object";
    throw new StoreError(`Cannot store "${key}" in ${this.#url}: ${why}`, { kind: "damaged" });
  }

  /** Closes all connections. */
  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
  }

  /** `unknown`: the store refuses to say; a key that may write need not be one that may read. */
  async #compare(
    key: string,
    { size, sha256Hex, md5Hex }: LocalFile,
  ): Promise<"stored" | "differs" | "missing" | "unknown"> {
    try {
      const send = (signal: AbortSignal) => this.#calls.head(key, signal);
      const found = await this.#requests.send({ action: `look up "${key}" in`, send });
      if (!found) return "missing";
      const isSame = found.info.size === size && (found.sha256Hex === sha256Hex || found.etag === md5Hex);
      return isSame ? "stored" : "differs";
    } catch (error) {
      if (isStoreError(error, "denied") || isStoreError(error, "unsuitable")) return "unknown";
      throw error;
    }
  }

  #put(key: string, { file, isNew }: { file: LocalFile; isNew: boolean }): Promise<string | undefined> {
    return this.#requests.send({
      action: `store "${key}" in`,
      send: async (signal, progress) => {
        const content = streamOf(file, progress);
        const { promise: failed, reject } = Promise.withResolvers<never>();
        content.once("error", reject);
        progress(CONTINUE_WAIT_MS);
        try {
          const { size, md5, sha256Hex } = file;
          const body = { content, size, md5, sha256Hex, storageClass: this.#storageClass };
          return await Promise.race([this.#calls.put(key, { ...body, isNew, signal }), failed]);
        } finally {
          content.destroy();
        }
      },
    });
  }
}

async function readDigests(path: string): Promise<LocalFile> {
  let digests: Digests;
  try {
    using file = await Deno.open(path);
    digests = await digestBoth(file.readable);
  } catch (cause) {
    throw new FileError("read", { path, cause });
  }
  if (digests.size <= MAX_FILE_BYTES) return { path, ...digests };
  throw new RangeError(`Cannot store "${path}": ${digests.size} bytes, one request takes at most ${MAX_FILE_BYTES}`);
}

/** The bytes whose digests were read; what was appended since is left out. */
function streamOf({ path, size }: LocalFile, progress: Progress): Readable {
  const read = async function* () {
    if (size === 0) return;
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, end: size - 1 })) {
      progress();
      yield chunk;
    }
  };
  return Readable.from(read(), { objectMode: false, highWaterMark: CHUNK_BYTES });
}
