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
  /** Start of the program; absent in older files. */
  start?: RunStart;
}

/** Start of a program that records. */
export interface RunStart {
  /** Monotonic time of the start, milliseconds, comparable to {@linkcode BootRecord.monoMs}. */
  monoMs: number;
  /** First number of this run in the epoch of the block. */
  firstSeq: number;
}

/** Frames of one bus since the program started. */
export interface BusCounts {
  /** Frames received from the bus. */
  received: number;
  /** Frames that the kernel or the interface dropped. */
  dropped: number;
  /** Frames that never became a message, by reason; see `INCOMPLETE_REASONS`. */
  incomplete: Readonly<Record<string, number>>;
  /** What became of each frame; absent in older files. */
  fates?: FrameFates;
}

/** What became of the frames and messages of one bus since the program started. Every number is counted for itself. */
export interface FrameFates {
  /** Frames of numbered messages. */
  inMessages: number;
  /** Frames that never became a message, by reason; other than {@linkcode BusCounts.incomplete} always in frames. */
  incomplete: Readonly<Record<string, number>>;
  /** Frames that wait now: for the rest of their message, or for its number. */
  waiting: number;
  /** Messages that have a number. */
  numbered: number;
  /** Of them, messages that the journal could not take. */
  unrecorded: number;
  /** What the interface itself has counted; absent if that is not known. */
  interface?: InterfaceFrames;
}

/** Frames that an interface has received since it exists, also while no program listened. */
export interface InterfaceFrames {
  /** Different for each interface and each start of the computer: counts with the same id can be compared. */
  id: number;
  /** At the start of the program. */
  atStart: number;
  /** Now. */
  received: number;
}

/** Counters at a moment within a block, or at its end. */
export interface BlockEnd {
  /** Frames of the block before that moment. */
  frames: number;
  /** Wall-clock time, microseconds since 1970. */
  timeUs: number;
  /** Counters of each bus, by index. */
  counts: readonly BusCounts[];
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
  /** The counters later in the block: at its end, or when a crash interrupted it, at the last sync. */
  end?: BlockEnd;
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
