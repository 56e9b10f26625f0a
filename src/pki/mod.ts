/**
 * Certificates: issuing them, identifying clients by them, revoking them.
 *
 * @module
 */
export {
  Authority,
  AUTHORITY_FILES,
  CertificateError,
  type CertificateFolder,
  FilesExistError,
  initAuthority,
  type IssueOptions,
  readIssued,
  type TemporaryCertificate,
} from "./certificates.ts";
export type { ServerNames } from "./certificates_make.ts";
export type { IssuedCertificate } from "./certificates_record.ts";
export * from "./client_authorities.ts";
export * from "./host_name.ts";
export * from "./identity.ts";
export * from "./peer_identities.ts";
export * from "./revocation.ts";
export * from "./revocation_file.ts";
export * from "./watched_content.ts";
