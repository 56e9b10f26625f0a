import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { importLate } from "../base/mod.ts";
import { compareKeys } from "./key.ts";
import { describeOpening, s3Url, statusOf } from "./s3_errors.ts";
import { MAX_OBJECT_BYTES, type ObjectInfo } from "./store.ts";
import { StoreError } from "./store_error.ts";

type S3Package = typeof import("./s3_package.ts");

/** Keys that sign requests. */
export interface S3Credentials {
  /** Name of the key. */
  accessKeyId: string;
  /** The secret. */
  secretAccessKey: string;
  /** Of temporary credentials. */
  sessionToken?: string | undefined;
}

/** Where the objects are, and who reads and writes them. */
export interface S3CallsOptions {
  /** Its name. */
  bucket: string;
  /** `https://host` or `http://host:port`; undefined: AWS itself. */
  endpoint: string | undefined;
  /** Undefined: from where the AWS tools find it; if they find none, `us-east-1`. */
  region: string | undefined;
  /** The bucket is part of the path, not of the host name. */
  isPathStyle: boolean;
  /** Undefined: from where the AWS tools find them. */
  credentials: S3Credentials | undefined;
}

/** A body with what the store checks it by. */
export interface S3Body {
  /** A stream is for one call. */
  content: Uint8Array | Readable;
  /** Bytes. */
  size: number;
  /** 16 bytes. */
  md5: Uint8Array;
  sha256Hex: string;
  /** Unique text that marks this call as the writer. */
  writer?: string | undefined;
  /** Undefined: the bucket's default. */
  storageClass?: string | undefined;
}

/** An object as a store describes it. */
export interface S3Description {
  info: ObjectInfo;
  /** Without quotes; the MD5 in hexadecimal where nothing was encrypted or stored in parts. */
  etag: string;
  /** As given with the body; undefined for objects of other programs. */
  sha256Hex: string | undefined;
  writer: string | undefined;
}

/** An object, or a part of it, with what it can be checked by. */
export interface S3Content {
  bytes: Uint8Array<ArrayBuffer>;
  sha256Hex: string | undefined;
  /** Undefined where the `ETag` is none: objects of several parts, or encrypted with KMS keys. */
  md5Hex: string | undefined;
  contentRange: string | undefined;
}

/** Time after which an idle connection is closed, milliseconds; stores close them after 20 s and more. */
const IDLE_CONNECTION_MS = 15_000;
/** Agent that keeps none: an idle one would delay the exit of a command. */
const OWN_CONNECTIONS = { keepAlive: false, maxSockets: Infinity };
/** Most keys in one request, as S3 has it. */
export const DELETE_KEYS = 1000;
/** Time after which the package sends a large body to a store that does not answer `Expect: 100-continue`, milliseconds. */
export const CONTINUE_WAIT_MS = 6000;
/** Stores other than AWS have no regions; AWS names the bucket's where this is the wrong one. */
const DEFAULT_REGION = "us-east-1";
/** Entries of an object's metadata (`x-amz-meta-`). */
const METADATA = { sha256: "sha256", writer: "writer" };

/** Single requests to a bucket: no retries, no time-outs, errors as the package throws them. */
export class S3Calls implements Disposable {
  readonly #package: S3Package;
  readonly #client: InstanceType<S3Package["S3Client"]>;
  readonly #connections: Deno.HttpClient | undefined;
  readonly #bucket: string;

  private constructor(
    s3: S3Package,
    { bucket, endpoint, region, isPathStyle, credentials, isOfFiles }: S3CallsOptions & { isOfFiles: boolean },
  ) {
    this.#package = s3;
    this.#bucket = bucket;
    this.#connections = isOfFiles ? undefined : Deno.createHttpClient({ poolIdleTimeout: IDLE_CONNECTION_MS });
    this.#client = new s3.S3Client({
      ...(endpoint !== undefined && { endpoint }),
      ...(region !== undefined && { region }),
      ...(credentials && {
        credentials: {
          accessKeyId: credentials.accessKeyId,
          secretAccessKey: credentials.secretAccessKey,
          ...(credentials.sessionToken !== undefined && { sessionToken: credentials.sessionToken }),
        },
      }),
      forcePathStyle: isPathStyle || needsPath(bucket, endpoint),
      maxAttempts: 1,
      // The package's own asks the system for its version at each request.
      defaultUserAgentProvider: () => Promise.resolve([["vessel-bus-gateway"]]),
      // Bodies have Content-MD5 and x-amz-content-sha256, which stores other than AWS know as well.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      // `fetch` sends streams in chunks, which stores refuse, and does not wait for `100 Continue`.
      requestHandler: this.#connections
        ? new s3.FetchHttpHandler({ requestInit: requestInitOf(this.#connections) })
        : { httpAgent: OWN_CONNECTIONS, httpsAgent: OWN_CONNECTIONS },
      // Without one the package warns on the console of streams that it cannot send again; that is done here.
      ...(isOfFiles && { logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } }),
    });
  }

  /**
   * Loads the package and finds region and credentials.
   *
   * @param transport.isOfFiles bodies may be streams, and each call has a connection of its own; default: false
   * @throws {StoreError} `denied`: there are no credentials; `unsuitable`: the package cannot be loaded
   */
  static async open(options: S3CallsOptions, { isOfFiles = false } = {}): Promise<S3Calls> {
    let calls: S3Calls | undefined;
    try {
      const s3 = await importLate<S3Package>(new URL("./s3_package.ts", import.meta.url));
      calls = new S3Calls(s3, { ...options, isOfFiles });
      if (!await calls.#hasRegion()) {
        calls[Symbol.dispose]();
        calls = new S3Calls(s3, { ...options, isOfFiles, region: DEFAULT_REGION });
      }
      await calls.#client.config.credentials();
      return calls;
    } catch (error) {
      calls?.[Symbol.dispose]();
      throw describeOpening(error, s3Url(options));
    }
  }

  #hasRegion(): Promise<boolean> {
    return this.#client.config.region().then(() => true, () => false);
  }

  /** Sends an object; returns its `ETag` without quotes. */
  async put(
    key: string,
    { content, size, md5, sha256Hex, writer, storageClass, isNew, signal }: S3Body & {
      isNew: boolean;
      signal: AbortSignal;
    },
  ): Promise<string | undefined> {
    const { PutObjectCommand } = this.#package;
    const command = new PutObjectCommand({
      ...{ Bucket: this.#bucket, Key: key, Body: content, ContentLength: size },
      ...(isNew && { IfNoneMatch: "*" }),
      ContentMD5: md5.toBase64(),
      ContentType: "application/octet-stream",
      Metadata: { [METADATA.sha256]: sha256Hex, ...(writer !== undefined && { [METADATA.writer]: writer }) },
    });
    // Else the package would hash the body a second time, all at once, or sign a stream without its hash.
    command.middlewareStack.add((next) => (args) => {
      const { headers } = partsOf(args.request);
      headers["x-amz-content-sha256"] = sha256Hex;
      // The command's type allows only the classes of AWS.
      if (storageClass !== undefined) headers["x-amz-storage-class"] = storageClass;
      return next(args);
    }, { step: "build" });
    const { ETag } = await this.#client.send(command, { abortSignal: signal });
    return ETag?.replaceAll('"', "");
  }

  /**
   * Reads an object or a part of it.
   *
   * @param options.range such as `bytes=0-9`
   * @throws {StoreError} `damaged`: the length is wrong; `unsuitable`: it is too large, or not the part asked for
   */
  async get(
    key: string,
    { range, signal }: { range?: string; signal: AbortSignal },
  ): Promise<S3Content> {
    const command = new this.#package.GetObjectCommand({
      ...{ Bucket: this.#bucket, Key: key },
      ...(range !== undefined && { Range: range }),
    });
    const { Body, ContentLength, ContentRange, ETag, Metadata, ServerSideEncryption, SSECustomerAlgorithm } = await this
      .#client.send(command, { abortSignal: signal });
    const stream = Body?.transformToWebStream() ?? new Blob([]).stream();
    const bytes = await readBody(stream, { key, length: ContentLength, signal });
    const tag = this.#tagOf(ETag, key);
    const isEncrypted = ServerSideEncryption?.startsWith("aws:") || SSECustomerAlgorithm !== undefined;
    const md5Hex = /^[0-9a-f]{32}$/.test(tag) && !isEncrypted ? tag : undefined;
    return { bytes, sha256Hex: Metadata?.[METADATA.sha256], md5Hex, contentRange: ContentRange };
  }

  /** The `ETag` without quotes. Every answer of S3 about an object has one; pages of a proxy do not. */
  #tagOf(tag: string | undefined, key: string): string {
    if (tag !== undefined) return tag.replaceAll('"', "");
    const why = "the answer has no ETag, it is not that of an object store";
    throw new StoreError(`Cannot read "${key}" of bucket "${this.#bucket}": ${why}`, { kind: "damaged" });
  }

  /** Describes an object; undefined if there is none, or no such bucket. */
  async head(key: string, signal: AbortSignal): Promise<S3Description | undefined> {
    try {
      const { HeadObjectCommand } = this.#package;
      const { ContentLength = 0, ETag, LastModified, Metadata } = await this.#client.send(
        new HeadObjectCommand({ Bucket: this.#bucket, Key: key }),
        { abortSignal: signal },
      );
      return {
        info: { key, size: ContentLength, lastModifiedMs: LastModified?.getTime() ?? 0 },
        etag: this.#tagOf(ETag, key),
        sha256Hex: Metadata?.[METADATA.sha256],
        writer: Metadata?.[METADATA.writer],
      };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  /** Fails if the bucket does not exist. */
  async requireBucket(signal: AbortSignal): Promise<undefined> {
    const { HeadBucketCommand } = this.#package;
    await this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket }), { abortSignal: signal });
  }

  /** Lists up to `limit` objects; the last page has fewer. */
  async list(
    { prefix, after, limit, signal }: { prefix: string; after: string; limit: number; signal: AbortSignal },
  ): Promise<{ entries: ObjectInfo[]; isLast: boolean }> {
    const { Contents = [], IsTruncated, KeyCount, Name } = await this.#client.send(
      new this.#package.ListObjectsV2Command({
        ...{ Bucket: this.#bucket, MaxKeys: limit, EncodingType: "url" },
        ...(prefix !== "" && { Prefix: prefix }),
        ...(after !== "" && { StartAfter: after }),
      }),
      { abortSignal: signal },
    );
    const entries = Contents.map(({ Key = "", Size = 0, LastModified }) => ({
      key: decodeURIComponent(Key.replaceAll("+", " ")),
      size: Size,
      lastModifiedMs: LastModified?.getTime() ?? 0,
    }));
    // A page of a proxy, or a part of a list, can look like a list of fewer objects.
    if (Name !== this.#bucket || (KeyCount ?? entries.length) !== entries.length) {
      const why = `it is one of "${Name ?? ""}" with ${entries.length} of ${KeyCount ?? 0} objects`;
      throw new StoreError(`Cannot use the list of bucket "${this.#bucket}": ${why}`, { kind: "damaged" });
    }
    let last = after;
    for (const { key } of entries) {
      if (!key.startsWith(prefix) || compareKeys(key, last) <= 0) {
        const why = `it lists "${key}" after "${last}" with the prefix "${prefix}"`;
        throw new StoreError(`Cannot use the list of bucket "${this.#bucket}": ${why}`, { kind: "unsuitable" });
      }
      last = key;
    }
    return { entries, isLast: IsTruncated !== true };
  }

  /** Deletes up to {@linkcode DELETE_KEYS} objects; returns those that are left, with the reason. */
  async delete(keys: readonly string[], signal: AbortSignal): Promise<{ code: string; why: string }[]> {
    const Objects = keys.map((Key) => ({ Key }));
    const command = new this.#package.DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } });
    // S3 required it for this request before it knew other checksums; some stores still do.
    command.middlewareStack.add((next) => (args) => {
      const { headers, body } = partsOf(args.request);
      if (typeof body !== "string") throw new TypeError("a list of keys is no text");
      headers["content-md5"] = createHash("md5").update(body).digest("base64");
      return next(args);
    }, { step: "build" });
    const { Errors = [] } = await this.#client.send(command, { abortSignal: signal });
    return Errors.filter(({ Code }) => Code !== "NoSuchKey")
      .map(({ Key = "", Code = "Error", Message = "" }) => ({
        code: Code,
        why: `"${Key}": ${Code} ${Message}`.trim(),
      }));
  }

  /** Closes all connections. */
  [Symbol.dispose](): void {
    this.#client.destroy();
    this.#connections?.close();
  }
}

// A redirected request has the wrong signature; a body that a proxy compressed has another length.
const requestInitOf =
  (client: Deno.HttpClient) =>
  ({ headers }: { headers: Record<string, string> }): RequestInit & { client: Deno.HttpClient } => ({
    ...{ redirect: "manual", client },
    headers: new Headers({ ...headers, "accept-encoding": "identity" }),
  });

/**
 * Whether the bucket cannot be a part of the host name: before an IP address, before a short name, and where the
 * certificate of the host does not cover it.
 */
function needsPath(bucket: string, endpoint: string | undefined): boolean {
  return bucket.includes(".") || endpoint !== undefined && /^[\d.]+$|^\[|^[^.]+$/.test(new URL(endpoint).hostname);
}

/** Headers of a request of the package, which can be changed, and its body. */
function partsOf(request: unknown): { headers: Record<string, string>; body: unknown } {
  if (typeof request === "object" && request !== null && "headers" in request && "body" in request) {
    const { headers, body } = request;
    if (typeof headers === "object" && headers !== null) return { headers: headers as Record<string, string>, body };
  }
  throw new TypeError("a request of @aws-sdk/client-s3 has no headers or no body");
}

async function readBody(
  stream: ReadableStream<Uint8Array>,
  { key, length, signal }: { key: string; length: number | undefined; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const damaged = (found: string) => {
    const what = `Cannot read "${key}": expected ${length ?? "a number of"} bytes, ${found}`;
    return new StoreError(what, { kind: "damaged" });
  };
  const reader = stream.getReader();
  const stop = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (length === undefined) throw damaged("the store does not say how many");
    if (length > MAX_OBJECT_BYTES) {
      const why = `it has ${length} bytes, more than ${MAX_OBJECT_BYTES}`;
      throw new StoreError(`Cannot read "${key}": ${why}`, { kind: "unsuitable" });
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      signal.throwIfAborted();
      if (at + next.value.length > length) throw damaged("found more");
      bytes.set(next.value, at);
      at += next.value.length;
    }
    signal.throwIfAborted();
    if (at < length) throw damaged(`found ${at}`);
    return bytes;
  } catch (error) {
    stop();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
