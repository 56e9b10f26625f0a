/**
 * A cloud's files without a running cloud: issues, lists and checks certificates, reads the state of boats, and imports
 * boats from a peer's cloud.
 *
 * @module
 */
export type { Clock, Logger } from "../base/mod.ts";
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
export type { Block, BlockError, BlockLocation, FileSource, OpenSource } from "../journal/mod.ts";
export type { LostRange, Range } from "../replication/mod.ts";
export {
  type Accounted,
  boatsInStore,
  type CheckedBoat,
  type CheckedEpoch,
  type CheckOptions,
  checkStoredBoat,
  chooseStoredBoat,
  type EpochHistory,
  type FormerState,
  importPeer,
  type InstanceState,
  type MigratedBoat,
  type MigrateOptions,
  MigrationError,
  parseState,
  PeerImportError,
  type PeerImportOptions,
  type PeerImportReport,
  type ReceivedRecord,
  restoreBoat,
  STATE_FILE,
  storeBoat,
  type StoredBlockLocation,
  StoredJournal,
  type StoredJournalOptions,
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
  type PeerKind,
  readClientAuthorities,
  readIssued,
  readRevoked,
  type ServerNames,
  type TemporaryCertificate,
} from "../pki/mod.ts";
