/**
 * The recording: frames in blocks, blocks in files (`.lpj`). A {@linkcode BlockBuilder} collects frames until its block is
 * full or the numbers are not consecutive; {@linkcode readBlock} checks a block and iterates over its frames. Versions 1
 * and 2 of the format are read, and older software can read new files. The content of files is not trusted: invalid bytes
 * throw a {@linkcode BlockError}, and no other error.
 *
 * The header of a block has its first time and number, not its last, and times of several buses interleave by up to a
 * minute. So a reader may decompress a few blocks too many, but never one too few. A clock that jumps makes no file too
 * old for retention. Depending on the policy, a full disk pauses recording until archived files are deleted.
 *
 * @module
 */
export * from "./block/block.ts";
export * from "./block/builder.ts";
export { INCOMPLETE_REASONS } from "./block/counts.ts";
export * from "./block/compression.ts";
export * from "./block/crc32c.ts";
export { ActiveDevices, type DeviceProduct, NO_PRODUCT } from "./block/device_table.ts";
export { type FormatVersion, MAX_DISORDER_US } from "./block/layout.ts";
export { BlockReader, type BlockSource, type StoredBlock } from "./block/reader.ts";
export { SyncBlockReader } from "./block/sync_reader.ts";
export * from "./clock/clock_file.ts";
export * from "./clock/clock_spans.ts";
export * from "./clock/directory_clocks.ts";
export * from "./digest/window_digest.ts";
export * from "./digest/window_digest_read.ts";
export * from "./errors.ts";
export { checkEvidence } from "./evidence/check.ts";
export type { CheckedEvidence, EvidenceFault, EvidenceFaultKind, FoundEvidence } from "./evidence/check_types.ts";
export { hashFile } from "./evidence/hash.ts";
export { type EvidencePublicKey, readPublicKey } from "./evidence/key.ts";
export { PUBLIC_KEY_FILE, readSigned, type SignedStatement } from "./evidence/sidecars.ts";
export type { FileHash } from "./evidence/statement.ts";
export { type BlockFile, openBlockFile } from "./file/block_file.ts";
export { JournalFile, type JournalFileOptions } from "./file/journal_file.ts";
export {
  type BlockLocation,
  type FileSource,
  openLocal,
  type OpenSource,
  readFileAt,
  SourceUnavailableError,
} from "./file/source.ts";
export * from "./file/layout.ts";
export { UNORDERED_PREFIX } from "./file/order.ts";
export {
  JOURNAL_DIRECTORY_MODE,
  JOURNAL_EXTENSION,
  JOURNAL_FILE_MODE,
  nextFileName,
  parseFileName,
  SIDECAR_EXTENSION,
  sidecarOf,
  SIGNATURE_EXTENSION,
  STATEMENT_EXTENSION,
  TABLES_EXTENSION,
  tablesOf,
} from "./file/name.ts";
export type { BlockRange } from "./index/block_table.ts";
export {
  type FileHead,
  type FileIndex,
  HEAD_BYTES,
  type IndexedBlock,
  type ReadAt,
  readFileIndex,
  readHead,
  readingAhead,
  SeenBlocks,
  type SeenRange,
  storedBytes,
} from "./index/file_index.ts";
export { type FormerRecording, MAX_FORMER_RECORDINGS } from "./index/former_epochs.ts";
export * from "./index/journal_index.ts";
export { openJournalDirectory, orderBlocks, type OrderedBlock, type TimeSpan } from "./index/ordered_blocks.ts";
export * from "./journal.ts";
export { isTornBlockKept, type JournalDirectory, readJournalDirectory } from "./journal_directory.ts";
export type { InstanceDirectory, RetentionStatus } from "./retention/directory_retention.ts";
export { JournalRetention, type JournalRetentionOptions } from "./retention/journal_retention.ts";
export { FleetRetention, type FleetRetentionOptions } from "./retention/fleet_retention.ts";
export type { ArchiveTrigger, OverflowPolicy, RetentionSettings, StrangeFile } from "./retention/plan.ts";
export type { EpochRanges, StoredFrames } from "./retention/unstored_files.ts";
export * from "./sequence/sequence_start.ts";
export * from "./sequence/sequence_store.ts";
export * from "./types.ts";
export { recover, type Recovered, type RecoveryOptions, repairNewestFiles } from "./wal/recovery.ts";
export {
  type JournalState,
  JournalWriter,
  type JournalWriterOptions,
  type RecordedCounts,
  type WrittenBlock,
} from "./writer/journal_writer.ts";
