/**
 * The recording: frames in blocks, blocks in files (`.lpj`). A {@linkcode BlockBuilder} takes frames until its block is
 * full or the numbers break; {@linkcode readBlock} checks a block as a whole and gives its frames one after the other.
 * Older software reads what is written, and what it wrote is read, versions 1 and 2. Nothing that a file holds is
 * trusted: wrong bytes throw a {@linkcode BlockError} and nothing else.
 *
 * @module
 */
export * from "./block.ts";
export * from "./block_builder.ts";
export { type BlockFile, openBlockFile } from "./block_file.ts";
export { type FormatVersion, MAX_DISORDER_US } from "./block_layout.ts";
export { BlockReader, type BlockSource, type StoredBlock } from "./block_reader.ts";
export type { BlockPlace } from "./block_table.ts";
export * from "./compression.ts";
export * from "./crc32c.ts";
export { type DeviceProduct, NO_PRODUCT } from "./device_table.ts";
export * from "./errors.ts";
export {
  type FileIndex,
  type IndexedBlock,
  type ReadAt,
  readFileAt,
  readFileIndex,
  readingAhead,
  storedBytes,
} from "./file_index.ts";
export * from "./file_layout.ts";
export { JOURNAL_DIRECTORY_MODE, JOURNAL_FILE_MODE } from "./file_modes.ts";
export { type FormerRecording, MAX_FORMER_RECORDINGS } from "./former_epochs.ts";
export { JOURNAL_EXTENSION, nextFileName, parseFileName } from "./file_name.ts";
export * from "./journal.ts";
export { JournalFile, type JournalFileOptions, type SealedBlock } from "./journal_file.ts";
export { isTornBlockKept, type JournalDirectory, readJournalDirectory } from "./journal_directory.ts";
export * from "./journal_index.ts";
export { type JournalState, JournalWriter, type JournalWriterOptions, type WrittenBlock } from "./journal_writer.ts";
export type { KeeperStatus, KeptDirectory } from "./keeper/directory_keeper.ts";
export { Keeper, type KeeperOptions } from "./keeper/keeper.ts";
export { Keepers, type KeepersOptions } from "./keeper/keepers.ts";
export type { ArchiveTrigger, OverflowPolicy, RetentionSettings, StrangeFile } from "./keeper/retention.ts";
export { mendNewest, recover, type Recovered, type RecoveryOptions } from "./recovery.ts";
export * from "./sequence_start.ts";
export * from "./sequence_store.ts";
export * from "./types.ts";
export { INCOMPLETE_REASONS } from "./bus_counts.ts";
export * from "./window_digest.ts";
export * from "./window_digest_read.ts";
