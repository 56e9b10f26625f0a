import type { Logger } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import type { ClockSpans } from "../clock/clock_spans.ts";
import type { FormatVersion } from "../block/layout.ts";
import type { StoredBlock } from "../block/reader.ts";
import type { BlockLocation, OpenSource } from "../file/source.ts";
import type { FileHead } from "./file_index.ts";

/** A file of a journal. */
export interface JournalFileInfo {
  path: string;
  /** Its size; of one that is being written, as of its last block. */
  bytes: number;
  /** Time of its first block as recorded, microseconds since 1970. */
  recordedUs: number;
  /** Its corrected time, and the number; there is no number in version 1. */
  firstTimeUs: number;
  firstSeq: number | undefined;
  /** 0 if the file states none. */
  epochWord: number;
  /** True if it is not in the directory of the journal. */
  isOutside: boolean;
}

/** Options of a {@linkcode JournalIndex}. */
export interface JournalIndexOptions {
  log: Logger;
  /** Opens a file for reading; default: on the local disk. */
  open?: OpenSource | undefined;
  /** Corrections of recorded times; default: they are right. */
  clock?: ClockSpans | undefined;
  /** Blocks that are not on disk yet, oldest first; default none. */
  unwritten?: () => Uint8Array<ArrayBuffer>[];
  /** Lists the files outside the directory again, because one of them has gone; default none. */
  relist?: (() => Promise<readonly OutsideFile[]>) | undefined;
  /** Returns true if another file system is mounted in place of the directory: missing files count as unavailable. Default never. */
  isUnmounted?: () => Promise<boolean>;
}

/** A file outside the directory of a journal, which has all frames from its first to its last number. */
export interface OutsideFile {
  /** By which {@linkcode JournalIndexOptions.open} opens it. */
  path: string;
  lastSeq: number;
  /** Its beginning, if it is known: else it is read. */
  head?: FileHead | undefined;
}

/** Location of a block in a file. */
export interface FileBlockLocation extends Pick<BlockLocation, "offset" | "bytes" | "seq"> {
  path: string;
}

/** Locations of blocks. */
export interface BlockLocations {
  /** Blocks in files; blocks written during the call come last. A block may occur twice. */
  locations: FileBlockLocation[];
  /** Blocks that are in no file yet, oldest first, of all epochs. */
  unwritten: Uint8Array<ArrayBuffer>[];
  /** False if a file could not be read: it may hold more blocks. */
  isComplete: boolean;
}

/** A block, and the first four bytes of its epoch: 0 if its file names none. */
export interface EpochBlock {
  block: Block;
  epochWord: number;
  /** The whole block as it is stored, of which `block` may be a part; undefined: it was changed. */
  stored?: { version: FormatVersion } & StoredBlock;
}
