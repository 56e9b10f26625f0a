import type { DigestNote } from "./digest/window_digest.ts";

/** A device as stored in a block: identifies the sender of a frame without any other source. */
export interface BlockDevice {
  /** Index of the bus; 0 in files of a single bus. */
  bus: number;
  /** Source address. */
  src: number;
  /** 64-bit NAME. */
  name: bigint;
  /** Index in the block of the first frame for which the device has this address; 0: from the start. */
  activeFrom: number;
  /** 0 and empty texts where nothing is known yet. */
  productCode: number;
  /** As the device calls its model. */
  modelId: string;
  /** Version of its software. */
  softwareVersion: string;
  /** Version of its model. */
  modelVersion: string;
  /** Serial number. */
  modelSerial: string;
}

/** Frames missing before a block, and the reason. */
export interface Gap {
  /** First missing sequence number; the last is the block's first minus one. */
  firstMissing: number;
  /** Why they are missing. */
  reason: GapReason;
}

/** `restart`: numbers skipped at a start; `disk`: could not be written; `source`: the frames came with a gap. */
export type GapReason = "restart" | "disk" | "source";

/** The machine's clocks when a recording began. */
export interface BootRecord {
  /** 16 bytes, different after each boot. */
  bootId: Uint8Array<ArrayBuffer>;
  /** Monotonic milliseconds … */
  monoMs: number;
  /** … and microseconds since 1970 at the same moment. */
  timeUs: number;
  /** Whether the wall clock was known to be right. */
  clock: "synchronized" | "unsynchronized" | "unknown";
}

/** Frames of one bus since the program started. */
export interface BusCounts {
  /** Frames that came from the bus. */
  received: number;
  /** Frames that kernel or interface dropped. */
  dropped: number;
  /** What never became a message, by reason; see `INCOMPLETE_REASONS`. */
  incomplete: Readonly<Record<string, number>>;
}

/** Metadata of a block. Readers skip entries that they do not know. */
export interface BlockMetadata {
  /** Names of the buses by index. */
  buses?: readonly string[];
  /** 16 bytes that identify the epoch. */
  epoch?: Uint8Array<ArrayBuffer>;
  /** Clocks when the recording began. */
  boot?: BootRecord;
  /** Frames missing before the block. */
  gap?: Gap;
  /** Digests of the frames before the block. */
  digests?: DigestNote;
  /** Counters of each bus when the block began, by index. */
  counts?: readonly BusCounts[];
}

/** How blocks lie on disk. */
export type Compression = "none" | "zstd" | "zstd-dict";

/** Default size of a block, bytes. */
export const DEFAULT_BLOCK_BYTES = 262_144;
/** Smallest block; sizes are powers of two. */
export const MIN_BLOCK_BYTES = 4096;
/** Largest block that is read: bounds memory for foreign files. */
export const MAX_BLOCK_BYTES = 16 * 1024 * 1024;
/** Buses that fit into a stored identifier. */
export const MAX_BUSES = 4;
