/**
 * A cloud's files without a running cloud: issues, lists and checks certificates, reads the state of boats, and imports
 * boats from a peer's cloud.
 *
 * @module
 */
export type { Clock } from "../base/mod.ts";
export {
  type CallOptions,
  type ListOptions,
  type ObjectInfo,
  type ObjectStore,
  openStore,
  type OpenStoreOptions,
  parseStoreUrl,
  type PutOptions,
  type RangeOptions,
  type S3Credentials,
  type StoreAddress,
  StoreError,
  type StoreErrorKind,
} from "../object_store/mod.ts";
export type { LostRange, Range } from "../replication/mod.ts";
export {
  type Accounted,
  boatsInStore,
  type CheckedBoat,
  type CheckedEpoch,
  type CheckOptions,
  checkStoredBoat,
  type EpochHistory,
  type FormerState,
  importPeer,
  type InstanceState,
  parseState,
  PeerImportError,
  type PeerImportOptions,
  type PeerImportReport,
  type ReceivedRecord,
  STATE_FILE,
  type StoreFault,
} from "../cloud/mod.ts";
export {
  Authority,
  AUTHORITY_FILES,
  CertificateError,
  type CertificateFolder,
  FilesExistError,
  initAuthority,
  isHostName,
  type IssuedCertificate,
  type IssueOptions,
  readClientAuthorities,
  readIssued,
  readRevoked,
  type TemporaryCertificate,
} from "../pki/mod.ts";
