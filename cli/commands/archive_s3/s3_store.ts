import { createHash } from "node:crypto";
import { backoffMs, errorText, FileError, pause } from "@vessel/gateway/base";
import { AwsV4Signer } from "aws4fetch";
import type { AwsCredentials } from "./aws_credentials.ts";
import { exchange, type S3Answer } from "./s3_request.ts";

/** Where objects go. */
export interface S3StoreOptions {
  bucket: string;
  /** `https://host` or `http://host:port`; nothing: AWS itself. */
  endpoint: string | undefined;
  region: string;
  /** The bucket stands in the path, not in the host's name. */
  isPathStyle: boolean;
  /** Such as `STANDARD_IA`; nothing: the bucket's default. */
  storageClass: string | undefined;
  credentials: AwsCredentials;
  /** Longest time in which nothing moves, milliseconds. */
  stallMs: number;
  /** How often a request is made at most. */
  attempts: number;
}

/** A file that is to be an object. */
interface LocalFile {
  path: string;
  bytes: number;
  /** As `Content-MD5` has it, and as an `ETag`. */
  md5: { base64: string; hex: string };
  /** Hexadecimal, as signatures have it. */
  sha256: string;
}

/** Most that one request may bring; more would need the multipart protocol. */
const MAX_OBJECT_BYTES = 5 * 1024 ** 3;
const RETRY = { firstMs: 500, capMs: 10_000 };
/** Sent along, so that any store can say later what an object was. */
const SHA256_HEADER = "x-amz-meta-sha256";
/** Too slow, too many, internal errors: what may be over at the next try. */
const PASSING_STATUSES = [408, 429, 500, 502, 503, 504];

/** A bucket of an S3-compatible store. */
export class S3Store {
  readonly #options: S3StoreOptions;

  /** Makes a store; nothing is asked of it yet. */
  constructor(options: S3StoreOptions) {
    this.#options = options;
  }

  /**
   * Sees to it that an object with a file's bytes is there: sends the file unless it is there already. The store checks
   * what it gets by its MD5 and its SHA-256. What is there is never overwritten.
   *
   * @param key parts between slashes, none of them empty, `.` or `..`
   * @throws {Error} it could not be sent, or another object has this key
   */
  async put(path: string, key: string): Promise<"there" | "sent"> {
    const file = await describe(path);
    const found = await this.#ask("HEAD", { key });
    if (isObject(found, { file, key })) return "there";
    const headers = headersOf(file, this.#options.storageClass);
    // Whatever else was wrong is wrong with sending, too, and then there is a reason; who may write need not read.
    let answer = await this.#ask("PUT", { key, file, headers: { ...headers, "if-none-match": "*" } });
    // Some stores do not know the condition.
    if (answer.status === 501 && found.status === 404) answer = await this.#ask("PUT", { key, file, headers });
    if (answer.status === 200) return "sent";
    // Somebody was faster, or it was us and the answer got lost.
    const isTaken = answer.status === 409 || answer.status === 412;
    if (isTaken && isObject(await this.#ask("HEAD", { key }), { file, key })) return "there";
    throw new Error(`Cannot send "${key}": ${reasonOf(answer)}`);
  }

  /** Makes a request, again when it fails in a way that passes. */
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
      // Not all at once, if many fail together.
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
    // No host's name in front: of an address, of a machine's short name, and where no certificate for *.host covers it.
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

/** Whether an answer to HEAD speaks of an object with a file's bytes. Throws when it speaks of another. */
function isObject({ status, headers }: S3Answer, { file, key }: { file: LocalFile; key: string }): boolean {
  if (status !== 200) return false;
  const isSame = headers["content-length"] === String(file.bytes) &&
    (headers[SHA256_HEADER] === file.sha256 || headers.etag === `"${file.md5.hex}"`);
  if (isSame) return true;
  throw new Error(`Cannot archive as "${key}": another object is there. Do two boats have the same instance id?`);
}

/** What a refusal says: its code and words, and the region when it was asked in the wrong one. */
function reasonOf({ status, headers, text }: S3Answer): string {
  const element = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
  const words = [element("Code"), element("Message")].filter((word) => word).join(": ");
  const region = headers["x-amz-bucket-region"];
  return `the store answered ${status}${words && `, ${words}`}` +
    (status === 301 && region !== undefined ? `; the bucket's region is "${region}"` : "");
}
