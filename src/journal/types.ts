import type { DigestNote } from "./digest/window_digest.ts";

/** What a block says about a device: enough to know who sent a frame when nothing else is at hand. */
export interface BlockDevice {
  /** Index of the bus; 0 in files that know only one. */
  bus: number;
  /** Source address. */
  src: number;
  /** 64-bit NAME. */
  name: bigint;
  /** Index of the frame in the block from which on the device has this address; 0: from the start. */
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

/** Frames that are missing in front of a block, and why. */
export interface Gap {
  /** First sequence number that is not there; the last one is the block's own first minus one. */
  firstMissing: number;
  /** Why they are missing. */
  reason: GapReason;
}

/** `restart`: numbers skipped at a start; `disk`: could not be written; `source`: the frames came with a gap. */
export type GapReason = "restart" | "disk" | "source";

/** The machine's clocks when a recording began. */
export interface BootRecord {
  /** 16 bytes, another one after each boot. */
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

/** What a block says beside frames and devices; readers that do not know it pass it over. */
export interface BlockMetadata {
  /** Names of the buses by index. */
  buses?: readonly string[];
  /** 16 bytes that name the run of sequence numbers. */
  epoch?: Uint8Array<ArrayBuffer>;
  /** Clocks when the recording began. */
  boot?: BootRecord;
  /** Frames that are missing in front of the block. */
  gap?: Gap;
  /** Digests of the frames before the block. */
  digests?: DigestNote;
  /** Counters of each bus when the block began, by index. */
  counts?: readonly BusCounts[];
}

/** How blocks lie on disk. */
export type Compression = "none" | "zstd" | "zstd-dict";

/** Bytes of a block when nothing else is said. */
export const DEFAULT_BLOCK_BYTES = 262_144;
/** Smallest block; sizes are powers of two. */
export const MIN_BLOCK_BYTES = 4096;
/** Largest block that is read: a file that says more is not one of ours, and could eat all memory. */
export const MAX_BLOCK_BYTES = 16 * 1024 * 1024;
/** Buses that a stored identifier has room for. */
export const MAX_BUSES = 4;
