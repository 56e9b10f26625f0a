/**
 * What programs do with a cloud's files while no cloud runs: certificates are made, listed and judged, a boat's state is
 * read.
 *
 * @module
 */
export type { Clock } from "./base/mod.ts";
export type { LostRange, Range } from "./replication/mod.ts";
export {
  type Accounted,
  Authority,
  AUTHORITY_FILES,
  CertificateError,
  type CertificateFolder,
  type EpochHistory,
  FilesExistError,
  type FormerState,
  importPeer,
  initAuthority,
  type InstanceState,
  isHostName,
  type IssuedCertificate,
  type IssueOptions,
  parseState,
  PeerImportError,
  type PeerImportOptions,
  type PeerImportReport,
  readClientAuthorities,
  readIssued,
  readRevoked,
  type ReceivedRecord,
  STATE_FILE,
} from "./cloud/mod.ts";
