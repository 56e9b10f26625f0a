import type { Logger } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import type { BlockLocation } from "./block_table.ts";

/** A file of a journal. */
export interface JournalFileInfo {
  path: string;
  /** Time and number of its first block; there is no number in version 1. */
  firstTimeUs: number;
  firstSeq: number | undefined;
  /** 0 if the file states none. */
  epochWord: number;
}

/** How an index is opened. */
export interface JournalIndexOptions {
  log: Logger;
  /** Blocks that are not on disk yet, oldest first; default none. */
  unwritten?: () => Uint8Array<ArrayBuffer>[];
  /** Returns true if another file system is mounted in place of the directory: missing files count as unavailable. Default never. */
  isAway?: () => Promise<boolean>;
}

/** A block that was not read yet, by its file. */
export interface PlacedBlock extends Pick<BlockLocation, "offset" | "bytes" | "seq"> {
  path: string;
}

/** Locations of blocks. */
export interface BlockLocations {
  /** Blocks in files; those written meanwhile come last. A block may occur twice. */
  places: PlacedBlock[];
  /** Blocks that are in no file yet, oldest first, of any epoch. */
  unwritten: Uint8Array<ArrayBuffer>[];
  /** False if a file could not be read: it may hold more blocks. */
  isComplete: boolean;
}

/** A block, and the first four bytes of its epoch: 0 where its file names none. */
export interface EpochBlock {
  block: Block;
  epochWord: number;
}
