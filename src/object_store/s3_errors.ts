import { errorText } from "../base/mod.ts";
import { StoreError, type StoreErrorKind } from "./store_error.ts";

/** What a store answered instead of doing what it was asked for. */
interface Refusal {
  /** HTTP status; undefined if no answer came, or none that can be read. */
  status: number | undefined;
  /** Code of S3, such as `NoSuchBucket`; `Error` if the answer has none. */
  code: string;
  message: string;
  /** Where the bucket is, if that is why. */
  region: string | undefined;
}

/** Where the objects are, for messages. */
export function s3Url(
  { bucket, prefix = "", endpoint }: { bucket: string; prefix?: string; endpoint: string | undefined },
): string {
  const at = endpoint === undefined ? "" : ` at ${new URL(endpoint).host}`;
  return `s3://${bucket}/${prefix}`.replace(/\/$/, "") + at;
}

/** A request whose failure is described. */
export interface FailedRequest {
  /** What failed, such as `store "a/b" in`. */
  action: string;
  /** The store, for messages. */
  url: string;
}

const DENIED_CODES = /^(?:ExpiredToken|InvalidToken|TokenRefreshRequired|CredentialsProviderError|AccessDenied)/;
const DAMAGED_CODES = ["BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"];
/** The store saw only a part of the request, or two conditional requests at the same time: another attempt helps. */
const PASSING_CODES = [
  "RequestTimeout",
  "IncompleteBody",
  "ConditionalRequestConflict",
  "OperationAborted",
  "SlowDown",
];
/** Codes whose own message says less. */
const MEANINGS: Readonly<Record<string, string>> = {
  AccessDenied: "the key may not do this",
  InvalidAccessKeyId: "the access key is unknown",
  NoSuchBucket: "there is no such bucket",
  SignatureDoesNotMatch: "the secret key is wrong",
};
/** Errors of a `credential_process` are none of the package's. */
const NO_CREDENTIALS =
  "found no credentials, neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor keys or a working " +
  "credential_process of the profile (AWS_PROFILE, ~/.aws/credentials, ~/.aws/config), nor those of a role";
/** Statuses by which AWS answers who asks in another region than the bucket's. */
const ELSEWHERE_STATUSES = [301, 307, 400];
/** Names that say nothing; `TimeoutError` is how the package calls a connection that broke. */
const SAYS_NOTHING = /^(?:Error|Unknown|UnknownError|TypeError|SyntaxError|TimeoutError|)$/;
const PASSING_STATUSES = [408, 425, 429];

/** The package's error, or the runtime's, as a {@linkcode StoreError}. */
export function describeFailure(error: unknown, { action, url }: FailedRequest): StoreError {
  if (error instanceof StoreError) return error;
  const refusal = refusalOf(error);
  const kind = kindOf(refusal);
  const { status, code, message, region } = refusal;
  const words = [code, MEANINGS[code] ?? message];
  const text = words.filter((word, at) => !SAYS_NOTHING.test(word) && words.indexOf(word) === at).join(": ");
  const why = status === undefined ? text : `the store answered ${status}${text && `, ${text}`}`;
  const elsewhere = region === undefined ? "" : `; the bucket's region is "${region}"`;
  return new StoreError(`Cannot ${action} ${url}: ${why}${elsewhere}`, { kind, cause: error });
}

/** Why the package cannot be loaded or has no credentials, as a {@linkcode StoreError}. */
export function describeOpening(error: unknown, url: string): StoreError {
  const [text = ""] = errorText(error).split("\n", 1);
  const isDenied = /credential/i.test(text);
  const why = /^Could not load credentials from any/.test(text) ? NO_CREDENTIALS : text;
  return new StoreError(`Cannot open the object store ${url}: ${why}`, {
    kind: isDenied ? "denied" : "unsuitable",
    cause: error,
  });
}

/** HTTP status of the package's error; undefined if no answer came. */
export function statusOf(error: unknown): number | undefined {
  return refusalOf(error).status;
}

/** What is wrong, read from the fields that the package gives its errors. */
function refusalOf(error: unknown): Refusal {
  const fields: { name?: unknown; $metadata?: unknown; $response?: unknown } =
    typeof error === "object" && error !== null ? error : {};
  const status = numberIn(fields.$metadata, "httpStatusCode") ?? numberIn(fields.$response, "statusCode");
  const region = valueIn(valueIn(fields.$response, "headers"), "x-amz-bucket-region");
  return {
    region: typeof region === "string" && ELSEWHERE_STATUSES.includes(status ?? 0) ? region : undefined,
    // A text that is not XML after "200 OK" is no answer.
    status: status !== undefined && status < 300 ? undefined : status,
    code: typeof fields.name === "string" ? fields.name : "Error",
    // The package adds advice for its developers after the first line.
    message: errorText(error).split("\n", 1)[0]?.replace(/ {2}Deserialization error: .*/, "") ?? "",
  };
}

function numberIn(value: unknown, name: string): number | undefined {
  const found = valueIn(value, name);
  return typeof found === "number" ? found : undefined;
}

function valueIn(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

function kindOf({ status, code }: Refusal): StoreErrorKind {
  if (DENIED_CODES.test(code) || status === 401 || status === 403) return "denied";
  if (DAMAGED_CODES.includes(code)) return "damaged";
  if (status === undefined || PASSING_CODES.includes(code) || PASSING_STATUSES.includes(status)) return "away";
  if (status === 404) return "missing";
  // 501: a part of S3 that the store does not have.
  return status >= 500 && status !== 501 ? "away" : "unsuitable";
}
