import type { DigestNote } from "./digest/window_digest.ts";

/** A device as stored in a block. It identifies the sender of a frame without other sources. */
export interface BlockDevice {
  /** Index of the bus; 0 in files of a single bus. */
  bus: number;
  /** Source address. */
  src: number;
  /** 64-bit NAME. */
  name: bigint;
  /** Index in the block of the first frame for which the device has this address; 0: from the start. */
  activeFrom: number;
  /** Product code (PGN 126996); 0 if unknown. The following texts are empty if unknown. */
  productCode: number;
  /** Model name. */
  modelId: string;
  /** Software version. */
  softwareVersion: string;
  /** Model version. */
  modelVersion: string;
  /** Serial number. */
  modelSerial: string;
}

/** Frames missing before a block, and the reason. */
export interface Gap {
  /** First missing sequence number; the last is the block's first minus one. */
  firstMissing: number;
  /** Reason. */
  reason: GapReason;
}

/** `restart`: numbers skipped at a start; `disk`: frames that could not be written; `source`: the frames arrived with a gap. */
export type GapReason = "restart" | "disk" | "source";

/** The clocks of the server when a block began. */
export interface BootRecord {
  /** 16 bytes, different at each start of the server. */
  bootId: Uint8Array<ArrayBuffer>;
  /** Monotonic time, milliseconds since some moment before the start. */
  monoMs: number;
  /** Wall-clock time of the same moment, microseconds since 1970. */
  timeUs: number;
  /** State of the wall clock. */
  clock: "synchronized" | "unsynchronized" | "unknown";
}

/** Frames of one bus since the program started. */
export interface BusCounts {
  /** Frames received from the bus. */
  received: number;
  /** Frames that the kernel or the interface dropped. */
  dropped: number;
  /** Frames that never became a message, by reason; see `INCOMPLETE_REASONS`. */
  incomplete: Readonly<Record<string, number>>;
}

/** Metadata of a block. Readers skip unknown entries. */
export interface BlockMetadata {
  /** Names of the buses by index. */
  buses?: readonly string[];
  /** 16 bytes that identify the epoch. */
  epoch?: Uint8Array<ArrayBuffer>;
  /** Clocks at the start of the block. */
  boot?: BootRecord;
  /** Frames missing before the block. */
  gap?: Gap;
  /** Digests of the frames before the block. */
  digests?: DigestNote;
  /** Counters of each bus at the start of the block, by index. */
  counts?: readonly BusCounts[];
}

/** A finished block. */
export interface SealedBlock {
  /** The decompressed block. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Number of its first frame. */
  firstSeq: number;
  /** Number of its last frame. */
  lastSeq: number;
  /** Time of its first frame, microseconds since 1970. */
  firstTimeUs: number;
  /** Latest time of a frame, microseconds since 1970. */
  latestTimeUs: number;
  /** First four bytes of its epoch; see {@linkcode epochWordOf}. */
  epochWord: number;
}

/** Compression of the blocks in a file. */
export type Compression = "none" | "zstd" | "zstd-dict";

/** Default size of a block, bytes. */
export const DEFAULT_BLOCK_BYTES = 262_144;
/** Smallest block, bytes; sizes are powers of two. */
export const MIN_BLOCK_BYTES = 4096;
/** Largest block, bytes: bounds the memory that a foreign file can claim. */
export const MAX_BLOCK_BYTES = 16 * 1024 * 1024;
/** Maximum number of buses: a stored identifier has two bits for the bus. */
export const MAX_BUSES = 4;
