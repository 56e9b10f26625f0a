import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { boolean, duration, integer, optional, text } from "../../settings/option_types.ts";
import type { Check, Options } from "../../settings/options.ts";

/** Settings of `vbg archive-s3`. */
export interface ArchiveS3Settings extends ProgramSettings {
  /** Must not be empty. */
  bucket: string;
  /** First parts of every key, without slashes at its ends; empty: none. */
  prefix: string;
  /** Nothing: AWS itself. */
  endpoint: string | undefined;
  /** Nothing: where the AWS tools have it. */
  region: string | undefined;
  pathStyle: boolean;
  /** Nothing: the bucket's default. */
  storageClass: string | undefined;
  concurrency: number;
  timeoutMs: number;
  attempts: number;
}

/** There is no configuration file. */
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
    help: "Bucket that files go to. Must be given.",
    ...STORE,
    validate: (value) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(value)
        ? undefined
        : `Cannot be the name of a bucket: "${value}": expected 3 to 63 letters, digits, dots or dashes`,
  }),
  prefix: text({
    name: "prefix",
    placeholder: "PATH",
    default: "",
    help: "First part of every key: a file becomes PATH/INSTANCE-ID/FILE-NAME.",
    ...STORE,
    validate: (value) =>
      value === "" || value.split("/").every(isKeyPart)
        ? undefined
        : `Cannot be the first part of keys: "${value}": expected words with single slashes between them`,
  }),
  endpoint: optional(text({
    name: "endpoint",
    placeholder: "URL",
    default: "",
    help: "Address of a store that is not AWS, such as https://minio.example.com:9000.",
    ...STORE,
    validate: checkEndpoint,
  })),
  region: optional(text({
    name: "region",
    default: "",
    help: "Region of the bucket. Without it: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1.",
    ...STORE,
    validate: (value) => /^[A-Za-z0-9-]+$/.test(value) ? undefined : `Cannot be a region: "${value}"`,
  })),
  pathStyle: boolean({
    name: "path-style",
    default: false,
    help: "Write the bucket into the path of a URL, not in front of its host. Most stores that are not AWS need it.",
    ...STORE,
  }),
  storageClass: optional(text({
    name: "storage-class",
    placeholder: "CLASS",
    default: "",
    help: "Storage class of the objects, such as STANDARD_IA. Without it: the bucket's default.",
    ...STORE,
    validate: (value) => /^[A-Z0-9_-]+$/.test(value) ? undefined : `Cannot be a storage class: "${value}"`,
  })),
  concurrency: integer({
    name: "concurrency",
    default: 4,
    min: 1,
    max: 64,
    help: "Files that are sent at the same time.",
    ...SENDING,
  }),
  timeoutMs: duration({
    name: "timeout",
    default: 30_000,
    minMs: MIN_TIMEOUT_MS,
    help: "Longest time in which nothing moves, before a try is given up. The server gives a whole run 5 minutes.",
    ...SENDING,
  }),
  attempts: integer({
    name: "attempts",
    default: 3,
    min: 1,
    max: 20,
    help: "Tries for each request, with pauses that double from half a second. The server tries again later, too.",
    ...SENDING,
  }),
  ...programOptions(),
};

/** Rules that look at several settings. */
export const archiveS3Checks: readonly Check<ArchiveS3Settings>[] = [{
  settings: ["bucket"],
  severity: "error",
  test: ({ bucket }) => bucket === "" ? "Cannot archive without a bucket: its name is expected" : undefined,
}];

/** Whether text can stand between two slashes of a key: another name must never lead into another boat's folder. */
export function isKeyPart(text: string): boolean {
  // deno-lint-ignore no-control-regex -- they are what is looked for
  return /^[^/\\\x00-\x1f\x7f]{1,200}$/.test(text) && text !== "." && text !== "..";
}

function checkEndpoint(value: string): string | undefined {
  const { protocol, username, search, hash } = URL.canParse(value) ? new URL(value) : new URL("none:");
  if (["http:", "https:"].includes(protocol) && username + search + hash === "") return undefined;
  // Not quoted: somebody may have put a secret into it.
  return "Cannot read the URL: expected https://HOST or http://HOST:PORT, without user, password or query";
}
