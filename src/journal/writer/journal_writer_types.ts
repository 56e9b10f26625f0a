import type { Clock, Logger } from "../../base/mod.ts";
import type { DeviceProduct } from "../block/device_table.ts";
import type { FileHeader } from "../file/layout.ts";
import type { SealedBlock } from "../types.ts";
import type { PackThread } from "../block/packer.ts";
import type { BlockDevice, BusCounts, Gap } from "../types.ts";
import type { WindowDigests } from "../digest/window_digest.ts";

/** State of recording. */
export type JournalState =
  | { kind: "recording" }
  | { kind: "failing"; reason: string; since: number }
  | { kind: "closed" };

/** Frames of the current epoch since the start of the program. */
export interface RecordedCounts {
  /** Frames taken, those that wait included. */
  appended: number;
  /** Of them, frames that are not durable yet. */
  waiting: number;
  /** Frames not taken: they are in no file. */
  lost: number;
}

/** Location of a written block. */
export interface WrittenBlock extends Omit<SealedBlock, "bytes" | "epochWord"> {
  path: string;
  offset: number;
  /** Size of the file including this block, bytes. */
  fileBytes: number;
  /** Header of the file. */
  header: FileHeader;
}

/**
 * Keeps a block elsewhere than in a file of the directory, such as in an object store. Returns where it is durable; undefined: it
 * is not, and goes into a file. Must not reject.
 *
 * @param packed the block as a file has it
 */
export type PlaceBlock = (
  block: SealedBlock,
  packed: Uint8Array<ArrayBuffer>,
) => Promise<WrittenBlock | undefined>;

/** Options of a {@linkcode JournalWriter}. */
export interface JournalWriterOptions {
  /** Directory of the files; this process must hold its lock. */
  directory: string;
  /** Prefix of the file names; default `nmea2k`. */
  prefix?: string;
  /** Default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** Maximum age of a file, milliseconds, also on a silent bus; 0 (default): no limit. */
  rotateDurationMs?: number;
  /** Maximum size of a file, bytes; 0 (default): no limit. */
  rotateBytes?: number;
  /** Interval between syncs, milliseconds; default 1000. */
  syncIntervalMs?: number;
  /** Capacity of the backlog, bytes; default 32 MiB. Beyond it frames are lost, and counted. */
  maxBacklogBytes?: number;
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** 16 bytes that identify the epoch; see {@linkcode JournalWriter.beginEpoch}. */
  epoch: Uint8Array<ArrayBuffer>;
  /** 16 bytes, different at each start of the server: blocks say how the wall clock then was related to the monotonic one. */
  bootId?: Uint8Array<ArrayBuffer>;
  /** Gap before the first frame: numbers that the start skipped. */
  gap?: Gap | undefined;
  /** Newest existing file: new names sort after it. */
  newestFile?: string | undefined;
  /** Blocks that the recovery could not write; the writer writes them first. */
  pending?: readonly SealedBlock[];
  /** Returns the known devices, at the start of a block. */
  devices?: () => readonly BlockDevice[];
  /** Returns the product information of the device at an address, at the end of a block. */
  productOf?: (bus: number, src: number) => DeviceProduct | undefined;
  /** Returns the counters of the buses, in the order of their indexes, at the start of a block. */
  counts?: () => readonly BusCounts[];
  /** First number of this run, which blocks then store; default: they do not. */
  firstSeq?: number | undefined;
  /** Updated with each recorded frame, and written into each block; default none. */
  digests?: WindowDigests;
  /**
   * Blocks that took at least this long to fill are compressed harder, in a worker thread; milliseconds, default 30 000. Until
   * they are in a file, the WAL holds their frames.
   */
  slowBlockMs?: number;
  /**
   * Timestamps come from another machine: they are unrelated to this machine's monotonic clock, so no clock steps are
   * detected. Default false.
   */
  hasForeignTimes?: boolean;
  /** Thread that compresses them; default a worker. */
  packThread?: PackThread;
  /** Offered each block before it goes into a file; until the answer the WAL holds its frames. Default: none. */
  place?: PlaceBlock | undefined;
  clock: Clock;
  log: Logger;
  /** Called before each write. A rejection delays writing, which is retried. */
  checkDirectory?: () => Promise<void>;
  /** Called for each block that is on disk, or was placed. */
  onWritten?: (block: WrittenBlock) => void;
  /** Called for each completed file, and each block that was placed. */
  onEnded?: ((path: string) => void) | undefined;
}
