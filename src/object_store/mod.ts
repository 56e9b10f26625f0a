/**
 * Object stores: a flat set of immutable objects that survives the loss of a machine. `ObjectStore` is the port,
 * `openStore` gives one on a local disk (`file:`) or in an S3-compatible store (`s3:`), `checkStore` proves that it
 * keeps the promises of the port. `S3Archive` copies files, which may be larger than an object of the port.
 *
 * Only `If-None-Match: *` is relied on, not `If-Match`: stores differ in how they quote its `ETag`.
 *
 * @module
 */
export * from "./check_store.ts";
export { digestBoth, type Digests } from "./digest.ts";
export { checkKey, compareKeys, MAX_KEY_BYTES, MAX_SEGMENT_BYTES } from "./key.ts";
export * from "./open_store.ts";
export { S3Archive, type S3ArchiveOptions } from "./s3_archive.ts";
export type { S3CallsOptions, S3Credentials } from "./s3_calls.ts";
export * from "./store.ts";
export * from "./store_error.ts";
