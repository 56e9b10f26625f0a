import { programOptions } from "../../settings/common_options.ts";
import { optional, OptionGroup } from "../../settings/option_types.ts";
import { type Check, refuse, type SettingsOf } from "../../settings/options.ts";

const store = new OptionGroup("Store");
const sending = new OptionGroup("Sending");
const MIN_TIMEOUT_MS = 100;

/** Options of `vbg archive-s3`. */
export const archiveS3Options = {
  bucket: store.text({
    name: "bucket",
    help: "Bucket for the files. Required.",
    validate: (value) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(value)
        ? undefined
        : `Cannot use the bucket name "${value}": expected 3 to 63 letters, digits, dots or dashes`,
  }),
  prefix: store.text({
    name: "prefix",
    placeholder: "PREFIX",
    help: "Prefix of every key: the key of a file is PREFIX/INSTANCE-ID/FILE-NAME.",
    validate: (value) =>
      value === "" || value.split("/").every(isKeyPart)
        ? undefined
        : `Cannot use the key prefix "${value}": expected words separated by single slashes`,
  }),
  endpoint: optional(store.text({
    name: "endpoint",
    placeholder: "URL",
    help: "URL of a store other than AWS, such as https://minio.example.com:9000.",
    validate: checkEndpoint,
  })),
  region: optional(store.text({
    name: "region",
    help: "Region of the bucket. Without it: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1.",
    validate: (value) =>
      /^[A-Za-z0-9-]+$/.test(value)
        ? undefined
        : `Cannot use the region "${value}": expected letters, digits and dashes`,
  })),
  pathStyle: store.boolean({
    name: "path-style",
    help: "Put the bucket into the path of the URL instead of the host name. Most stores other than AWS need it.",
  }),
  storageClass: optional(store.text({
    name: "storage-class",
    help: "Storage class of the objects, such as STANDARD_IA. Without it: the bucket's default.",
    validate: (value) =>
      /^[A-Z0-9_-]+$/.test(value)
        ? undefined
        : `Cannot use the storage class "${value}": expected capital letters, digits, _ and -`,
  })),
  concurrency: sending.integer({
    name: "concurrency",
    default: 4,
    min: 1,
    max: 64,
    help: "Number of files sent at the same time.",
  }),
  timeoutMs: sending.duration({
    name: "timeout",
    default: 30_000,
    minMs: MIN_TIMEOUT_MS,
    help: "Longest time without progress before an attempt fails. The server allows 5 minutes for a whole run.",
  }),
  attempts: sending.integer({
    name: "attempts",
    default: 3,
    min: 1,
    max: 20,
    help: "Attempts for each request, with pauses that double from half a second. The server also tries again later.",
  }),
  ...programOptions,
};

/** Settings of `vbg archive-s3`. */
export type ArchiveS3Settings = SettingsOf<typeof archiveS3Options>;

/** Rules over several settings. */
export const archiveS3Checks: readonly Check<ArchiveS3Settings>[] = [
  refuse(["bucket"], ({ bucket }) => bucket === "" && "Cannot archive without a bucket: give -bucket NAME"),
];

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
