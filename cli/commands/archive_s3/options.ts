import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { boolean, duration, integer, optional, text } from "../../settings/option_types.ts";
import type { Check, Options } from "../../settings/options.ts";

/** Settings of `vbg archive-s3`. */
export interface ArchiveS3Settings extends ProgramSettings {
  /** Must not be empty. */
  bucket: string;
  /** Prefix of every key, without leading or trailing slash; empty: none. */
  prefix: string;
  /** Undefined: AWS. */
  endpoint: string | undefined;
  /** Undefined: as configured for the AWS tools. */
  region: string | undefined;
  pathStyle: boolean;
  /** Undefined: the bucket's default. */
  storageClass: string | undefined;
  concurrency: number;
  timeoutMs: number;
  attempts: number;
}

/** The command has no configuration file. */
const key: readonly string[] = [];
const STORE = { key, group: "Store" };
const SENDING = { key, group: "Sending" };
const MIN_TIMEOUT_MS = 100;

/** Options of `vbg archive-s3`. */
export const archiveS3Options: Options<ArchiveS3Settings> = {
  bucket: text({
    name: "bucket",
    placeholder: "NAME",
    default: "",
    help: "Bucket for the files. Required.",
    ...STORE,
    validate: (value) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(value)
        ? undefined
        : `Cannot use the bucket name "${value}": expected 3 to 63 letters, digits, dots or dashes`,
  }),
  prefix: text({
    name: "prefix",
    placeholder: "PREFIX",
    default: "",
    help: "Prefix of every key: the key of a file is PREFIX/INSTANCE-ID/FILE-NAME.",
    ...STORE,
    validate: (value) =>
      value === "" || value.split("/").every(isKeyPart)
        ? undefined
        : `Cannot use the key prefix "${value}": expected words separated by single slashes`,
  }),
  endpoint: optional(text({
    name: "endpoint",
    placeholder: "URL",
    default: "",
    help: "URL of a store other than AWS, such as https://minio.example.com:9000.",
    ...STORE,
    validate: checkEndpoint,
  })),
  region: optional(text({
    name: "region",
    placeholder: "NAME",
    default: "",
    help: "Region of the bucket. Without it: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1.",
    ...STORE,
    validate: (value) =>
      /^[A-Za-z0-9-]+$/.test(value)
        ? undefined
        : `Cannot use the region "${value}": expected letters, digits and dashes`,
  })),
  pathStyle: boolean({
    name: "path-style",
    default: false,
    help: "Put the bucket into the path of the URL instead of the host name. Most stores other than AWS need it.",
    ...STORE,
  }),
  storageClass: optional(text({
    name: "storage-class",
    placeholder: "NAME",
    default: "",
    help: "Storage class of the objects, such as STANDARD_IA. Without it: the bucket's default.",
    ...STORE,
    validate: (value) =>
      /^[A-Z0-9_-]+$/.test(value)
        ? undefined
        : `Cannot use the storage class "${value}": expected capital letters, digits, _ and -`,
  })),
  concurrency: integer({
    name: "concurrency",
    default: 4,
    min: 1,
    max: 64,
    help: "Number of files sent at the same time.",
    ...SENDING,
  }),
  timeoutMs: duration({
    name: "timeout",
    default: 30_000,
    minMs: MIN_TIMEOUT_MS,
    help: "Longest time without progress before an attempt fails. The server allows 5 minutes for a whole run.",
    ...SENDING,
  }),
  attempts: integer({
    name: "attempts",
    default: 3,
    min: 1,
    max: 20,
    help: "Attempts for each request, with pauses that double from half a second. The server also tries again later.",
    ...SENDING,
  }),
  ...programOptions(),
};

/** Rules over several settings. */
export const archiveS3Checks: readonly Check<ArchiveS3Settings>[] = [{
  settings: ["bucket"],
  severity: "error",
  test: ({ bucket }) => bucket === "" ? "Cannot archive without a bucket: give -bucket NAME" : undefined,
}];

/** Whether text is a valid key segment: a name must never lead into another boat's folder. */
export function isKeyPart(text: string): boolean {
  // deno-lint-ignore no-control-regex -- control characters are refused
  return /^[^/\\\x00-\x1f\x7f]{1,200}$/.test(text) && text !== "." && text !== "..";
}

function checkEndpoint(value: string): string | undefined {
  const { protocol, username, search, hash } = URL.canParse(value) ? new URL(value) : new URL("none:");
  if (["http:", "https:"].includes(protocol) && username + search + hash === "") return undefined;
  // The value is not quoted: it may contain a secret.
  return "Cannot read the URL: expected https://HOST or http://HOST:PORT, without user, password or query";
}
