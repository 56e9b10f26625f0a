/**
 * A server's certificate from an authority that gives them out by ACME (RFC 8555): asked for, kept in a folder, and
 * renewed before it ends, without anybody's doing.
 *
 * @module
 */
export { ACME_DIRECTORY, AcmeCertificate, type AcmeOptions } from "./acme_certificate.ts";
export { AcmeError } from "./acme_error.ts";
export { ACME_CHALLENGES, type AcmeChallenge } from "./challenge.ts";
