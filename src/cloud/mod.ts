/**
 * What the cloud knows of boats: the authority that gives them certificates, who they are when they come, and which of
 * their frames are here. Nothing that a boat sends counts before it was checked, and nothing is acknowledged before it
 * is safe on disk.
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
  isHostName,
  type IssueOptions,
  readIssued,
} from "./certificates.ts";
export type { IssuedCertificate } from "./certificates_record.ts";
export * from "./block_check.ts";
export * from "./client_authorities.ts";
export * from "./diagnostic_events.ts";
export { type FormerState, type FormerSummary, MAX_KEPT_FORMER } from "./former_epochs.ts";
export * from "./identify.ts";
export * from "./identity.ts";
export { Instance } from "./instance.ts";
export type { InstanceCounters, InstanceSummary } from "./instance_record.ts";
export type { InstanceSession } from "./instance_sessions.ts";
export * from "./instance_settings.ts";
export type { InstanceStoresOptions } from "./instance_stores.ts";
export * from "./instances.ts";
export { importPeer, PeerImportError, type PeerImportOptions, type PeerImportReport } from "./peer_import.ts";
export * from "./received.ts";
export * from "./received_epochs.ts";
export * from "./replica.ts";
export * from "./replica_snapshot.ts";
export * from "./revocation.ts";
export * from "./revocation_file.ts";
export * from "./revocation_serial.ts";
export { Scrub, type ScrubOptions } from "./scrub.ts";
export * from "./service.ts";
export * from "./state_file.ts";
export * from "./state_file_rebuild.ts";
