import { createHash } from "node:crypto";
import { backoffMs, errorText, FileError, pause } from "@vessel/gateway/base";
import { AwsV4Signer } from "aws4fetch";
import type { AwsCredentials } from "./aws_credentials.ts";
import { exchange, type S3Answer } from "./s3_request.ts";

/** Location of the objects, and limits of requests. */
export interface S3StoreOptions {
  bucket: string;
  /** `https://host` or `http://host:port`; nothing: AWS itself. */
  endpoint: string | undefined;
  region: string;
  /** The bucket is part of the path, not of the host name. */
  isPathStyle: boolean;
  /** Such as `STANDARD_IA`; undefined: the bucket's default. */
  storageClass: string | undefined;
  credentials: AwsCredentials;
  /** Longest time without progress, milliseconds. */
  stallMs: number;
  /** Most attempts for one request. */
  attempts: number;
}

/** A file to store as an object. */
interface LocalFile {
  path: string;
  bytes: number;
  /** Base64 for `Content-MD5`, hexadecimal for the `ETag`. */
  md5: { base64: string; hex: string };
  /** Hexadecimal, as in signatures. */
  sha256: string;
}

/** Largest body of one request, bytes; more would need multipart upload. */
const MAX_OBJECT_BYTES = 5 * 1024 ** 3;
const RETRY = { firstMs: 500, capMs: 10_000 };
/** Metadata of each object, so that its digest can be checked later at any store. */
const SHA256_HEADER = "x-amz-meta-sha256";
/** Timeouts, rate limits and internal errors: may succeed at the next attempt. */
const PASSING_STATUSES = [408, 429, 500, 502, 503, 504];

/** A bucket of an S3-compatible store. */
export class S3Store {
  readonly #options: S3StoreOptions;

  /** Sends no request yet. */
  constructor(options: S3StoreOptions) {
    this.#options = options;
  }

  /**
   * Ensures that an object with the bytes of a file exists: sends the file unless it is stored already. The store checks
   * MD5 and SHA-256 of the body. Never overwrites an object.
   *
   * @param key segments separated by slashes, none of them empty, `.` or `..`
   * @throws {Error} the file could not be sent, or another object has this key
   */
  async put(path: string, key: string): Promise<"there" | "sent"> {
    const file = await describe(path);
    const found = await this.#ask("HEAD", { key });
    if (isObject(found, { file, key })) return "there";
    const headers = headersOf(file, this.#options.storageClass);
    // Any other failure repeats when sending and then has a reason; write permission does not imply read permission.
    let answer = await this.#ask("PUT", { key, file, headers: { ...headers, "if-none-match": "*" } });
    // Some stores do not support If-None-Match.
    if (answer.status === 501 && found.status === 404) answer = await this.#ask("PUT", { key, file, headers });
    if (answer.status === 200) return "sent";
    // Another writer stored it first, or our own earlier attempt did and its response was lost.
    const isTaken = answer.status === 409 || answer.status === 412;
    if (isTaken && isObject(await this.#ask("HEAD", { key }), { file, key })) return "there";
    throw new Error(`Cannot send "${key}": ${reasonOf(answer)}`);
  }

  /** Sends a request; retries transient failures. */
  async #ask(
    method: "HEAD" | "PUT",
    { key, file, headers = {} }: { key: string; file?: LocalFile; headers?: Record<string, string> },
  ): Promise<S3Answer> {
    const { attempts } = this.#options;
    const url = this.#urlOf(key);
    for (let attempt = 1;; attempt++) {
      const isLast = attempt >= attempts;
      try {
        const answer = await this.#askOnce(method, { url, file, headers });
        if (isLast || !PASSING_STATUSES.includes(answer.status)) return answer;
      } catch (error) {
        const why = errorText(error);
        if (isLast) throw new Error(`Cannot reach ${new URL(url).host}: ${why}`, { cause: error });
      }
      // Random, so that many failed requests do not retry at the same time.
      await pause(backoffMs(attempt, RETRY) * (0.5 + Math.random()));
    }
  }

  async #askOnce(
    method: "HEAD" | "PUT",
    { url, file, headers }: { url: string; file: LocalFile | undefined; headers: Record<string, string> },
  ): Promise<S3Answer> {
    const { region, credentials: { accessKeyId, secretAccessKey, sessionToken }, stallMs } = this.#options;
    const token = sessionToken === undefined ? {} : { sessionToken };
    const signer = new AwsV4Signer({
      method,
      url,
      service: "s3",
      region,
      accessKeyId,
      secretAccessKey,
      ...token,
      headers,
    });
    const signed = await signer.sign();
    return await exchange({ url: signed.url, method, headers: signed.headers, body: file, stallMs });
  }

  #urlOf(key: string): string {
    const { bucket, endpoint, region, isPathStyle } = this.#options;
    const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
    // The bucket cannot precede an IP address, a short host name, or a host whose wildcard certificate does not cover it.
    const needsPath = /^[\d.]+$|^\[|^[^.]+$/.test(base.hostname) || bucket.includes(".");
    const path = key.split("/").map(encodeURIComponent).join("/");
    const folder = base.pathname.replace(/\/$/, "");
    return isPathStyle || needsPath
      ? `${base.origin}${folder}/${bucket}/${path}`
      : `${base.protocol}//${bucket}.${base.host}${folder}/${path}`;
  }
}

async function describe(path: string): Promise<LocalFile> {
  const md5 = createHash("md5");
  const sha256 = createHash("sha256");
  let bytes = 0;
  try {
    using file = await Deno.open(path);
    for await (const chunk of file.readable) {
      md5.update(chunk);
      sha256.update(chunk);
      bytes += chunk.length;
    }
  } catch (cause) {
    throw new FileError("read", { path, cause });
  }
  if (bytes > MAX_OBJECT_BYTES) {
    throw new Error(`Cannot send "${path}": ${bytes} bytes, one request takes at most ${MAX_OBJECT_BYTES}`);
  }
  const digest = md5.digest();
  return {
    path,
    bytes,
    md5: { base64: digest.toString("base64"), hex: digest.toString("hex") },
    sha256: sha256.digest("hex"),
  };
}

function headersOf({ md5, sha256 }: LocalFile, storageClass: string | undefined): Record<string, string> {
  return {
    "content-type": "application/octet-stream",
    "content-md5": md5.base64,
    "x-amz-content-sha256": sha256,
    [SHA256_HEADER]: sha256,
    ...(storageClass !== undefined && { "x-amz-storage-class": storageClass }),
  };
}

/** Whether the response to HEAD describes an object with the bytes of the file. Throws if it describes another. */
function isObject({ status, headers }: S3Answer, { file, key }: { file: LocalFile; key: string }): boolean {
  if (status !== 200) return false;
  const isSame = headers["content-length"] === String(file.bytes) &&
    (headers[SHA256_HEADER] === file.sha256 || headers.etag === `"${file.md5.hex}"`);
  if (isSame) return true;
  throw new Error(`Cannot archive as "${key}": another object is there. Do two boats have the same instance id?`);
}

/** Text of an error response: code, message, and the bucket's region if the request went to another. */
function reasonOf({ status, headers, text }: S3Answer): string {
  const element = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
  const words = [element("Code"), element("Message")].filter((word) => word).join(": ");
  const region = headers["x-amz-bucket-region"];
  return `the store answered ${status}${words && `, ${words}`}` +
    (status === 301 && region !== undefined ? `; the bucket's region is "${region}"` : "");
}
