import { fileURLToPath } from "node:url";
import type { BackoffOptions } from "../base/mod.ts";
import { DirectoryStore } from "./directory_store.ts";
import type { S3Credentials } from "./s3_calls.ts";
import { S3Store } from "./s3_store.ts";
import { checkKey } from "./key.ts";
import type { ObjectStore } from "./store.ts";

/** Longest time of one attempt, milliseconds. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
/** Attempts for one request: with the default pauses they last at least 3 s. */
export const DEFAULT_ATTEMPTS = 5;
/** Pauses between attempts. */
export const DEFAULT_RETRY: BackoffOptions = { firstMs: 200, capMs: 5000 };

/** An address of an object store. */
export type StoreAddress =
  | { kind: "directory"; path: string }
  /** `prefix` has no slash at its end and may be empty. */
  | { kind: "s3"; bucket: string; prefix: string };

/** Which object store to open, and limits of its requests. */
export interface OpenStoreOptions {
  /** `s3://BUCKET/PREFIX` or `file:///FOLDER`. */
  url: string;
  /** Only to read: a folder must exist, and nothing is created or removed in it. Default false. */
  isReadOnly?: boolean;
  /** URL of an S3-compatible store, such as `https://minio.example.com:9000`. Default: AWS. */
  endpoint?: string | undefined;
  /** Default: `AWS_REGION` or that of the profile; if there is none, `us-east-1`. */
  region?: string | undefined;
  /** The bucket is part of the path, not of the host name. Default: with an endpoint. */
  isPathStyle?: boolean | undefined;
  /**
   * Default: from where the AWS tools find them: environment variables, shared files with their profile, web identity,
   * metadata of the container or machine; temporary ones are renewed.
   */
  credentials?: S3Credentials | undefined;
  /** Longest time of one attempt, request and answer with their bodies, milliseconds. Default: one minute. */
  requestTimeoutMs?: number | undefined;
  /** Most attempts for one request. Default: {@linkcode DEFAULT_ATTEMPTS}. */
  attempts?: number | undefined;
  /** Pauses between attempts. Default: {@linkcode DEFAULT_RETRY}. */
  retry?: BackoffOptions | undefined;
}

/**
 * Parses the address of an object store.
 *
 * @throws {TypeError} it is not `s3://BUCKET/PREFIX` or `file:///FOLDER`
 *
 * @example
 * ```ts
 * import { parseStoreUrl } from "./mod.ts";
 *
 * parseStoreUrl("s3://boats/fleet/north"); // { kind: "s3", bucket: "boats", prefix: "fleet/north" }
 * ```
 */
export function parseStoreUrl(url: string): StoreAddress {
  const [, bucket, prefix = ""] =
    /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9])(?:\/(?:(.+?)\/?)?)?$/.exec(url) ??
      [];
  if (bucket !== undefined) {
    if (prefix !== "") checkPrefix(prefix);
    return { kind: "s3", bucket, prefix };
  }
  const { protocol, hostname, search, hash } = URL.canParse(url) ? new URL(url) : new URL("none:");
  if (protocol === "file:" && /^file:\/\/\//.test(url) && hostname + search + hash === "") {
    return { kind: "directory", path: fileURLToPath(url) };
  }
  // The text is not quoted: it may contain a secret.
  throw new TypeError("Cannot read the URL of the object store: expected s3://BUCKET/PREFIX or file:///FOLDER");
}

function checkPrefix(prefix: string): void {
  try {
    checkKey(prefix);
  } catch (cause) {
    throw new TypeError(`Cannot use the prefix "${prefix}" of the object store: expected a valid key`, { cause });
  }
}

/**
 * Opens an object store. Call `checkStore` before relying on it.
 *
 * @throws {TypeError} the URL cannot be read
 * @throws {StoreError} there are no credentials, or the folder cannot be used
 */
export async function openStore(options: OpenStoreOptions): Promise<ObjectStore> {
  const address = parseStoreUrl(options.url);
  if (address.kind === "directory") return await DirectoryStore.open(address.path, options);
  const { endpoint, region, isPathStyle = endpoint !== undefined, credentials } = options;
  return await S3Store.open({
    ...{ bucket: address.bucket, prefix: address.prefix, endpoint, region, isPathStyle, credentials },
    requestTimeoutMs: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
    attempts: options.attempts ?? DEFAULT_ATTEMPTS,
    retry: options.retry ?? DEFAULT_RETRY,
  });
}
