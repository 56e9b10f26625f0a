import type { Clock, Logger } from "../../base/mod.ts";
import type { DeviceProduct } from "../block/device_table.ts";
import type { FileHeader } from "../file/layout.ts";
import type { SealedBlock } from "../file/journal_file.ts";
import type { PackThread } from "../block/pack_thread.ts";
import type { BlockDevice, BootRecord, BusCounts, Gap } from "../types.ts";
import type { WindowDigests } from "../digest/window_digest.ts";

/** How the journal does. */
export type JournalState =
  | { kind: "recording" }
  | { kind: "failing"; reason: string; since: number }
  | { kind: "closed" };

/** Where a block was written. */
export interface WrittenBlock extends Omit<SealedBlock, "bytes" | "epochWord"> {
  path: string;
  offset: number;
  /** Size of the file, with this block. */
  fileBytes: number;
  /** Header of the file. */
  header: FileHeader;
}

/** How a journal is written. */
export interface JournalWriterOptions {
  /** Directory of the files, which this process holds alone. */
  directory: string;
  /** First part of the files' names; default `nmea2k`. */
  prefix?: string;
  /** Default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** A file is ended after so long, also on a silent bus; 0 (the default) never. */
  rotateDurationMs?: number;
  /** A file is ended when it is larger; 0 (the default) never. */
  rotateBytes?: number;
  /** Longest time that a frame is in memory alone; default 1 s. */
  syncIntervalMs?: number;
  /** Blocks that wait while nothing can be written, default 32 MiB; then frames are lost, and counted. */
  maxBacklogBytes?: number;
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** 16 bytes that name the run of sequence numbers; see {@linkcode JournalWriter.beginEpoch}. */
  epoch: Uint8Array<ArrayBuffer>;
  boot?: BootRecord;
  /** Numbers that were skipped before the first frame. */
  gap?: Gap | undefined;
  /** Newest file there is: no name sorts before it. */
  newestFile?: string | undefined;
  /** Blocks that a recovery could not write: they go first. */
  pending?: readonly SealedBlock[];
  /** Devices known now, for the block that begins. */
  devices?: () => readonly BlockDevice[];
  productOf?: (bus: number, src: number) => DeviceProduct | undefined;
  /** Counters of the buses now, in the order of their indexes, for the block that begins. */
  counts?: () => readonly BusCounts[];
  /** Kept up to date with each frame that is recorded, and written into each block; default: none are. */
  digests?: WindowDigests;
  /**
   * Blocks that took at least so long to fill are packed small, in a thread of their own; default 30 s. Till they are in
   * a file their frames are in a tail.
   */
  slowBlockMs?: number;
  /**
   * Times of frames are another machine's: they do not go with this machine's monotonic clock, and say nothing about its
   * wall clock. Default false.
   */
  hasForeignTimes?: boolean;
  /** Packs those blocks; default a worker. */
  packThread?: PackThread;
  clock: Clock;
  log: Logger;
  /** Called before anything is written; rejects while nothing may be, which is tried again. */
  checkDirectory?: () => Promise<void>;
  /** Told of every block that is on disk … */
  onWritten?: (block: WrittenBlock) => void;
  /** … and of every file that is ended. */
  onEnded?: (path: string) => void;
}
