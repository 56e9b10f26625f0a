import type { Logger } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import type { BlockLocation } from "./block_table.ts";

/** A file of a journal. */
export interface JournalFileInfo {
  path: string;
  /** Time and number of its first block; there is no number in version 1. */
  firstTimeUs: number;
  firstSeq: number | undefined;
  /** 0 where the file tells none. */
  epochWord: number;
}

/** How an index is opened. */
export interface JournalIndexOptions {
  log: Logger;
  /** Blocks that are not on disk yet, oldest first; default none. */
  unwritten?: () => Uint8Array<ArrayBuffer>[];
  /** Whether another file system is in the directory's place now: files that are not there are not gone. Default never. */
  isAway?: () => Promise<boolean>;
}

/** A block that was not read yet, by its file. */
export interface PlacedBlock extends Pick<BlockLocation, "offset" | "bytes" | "seq"> {
  path: string;
}

/** Where blocks are. */
export interface BlockLocations {
  /** Those in files, those written meanwhile last. A block may be there twice. */
  places: PlacedBlock[];
  /** Those that are in no file yet, oldest first; of any run of numbers. */
  unwritten: Uint8Array<ArrayBuffer>[];
  /** False where the disk did not give a file: there may be more in it. */
  isComplete: boolean;
}

/** A block, and the first four bytes of its epoch: 0 where its file names none. */
export interface EpochBlock {
  block: Block;
  epochWord: number;
}
