import type { Range } from "../../base/mod.ts";
import { type ClockSpan, MAX_WINDOW_DIGESTS, type WindowDigest } from "../../journal/mod.ts";

/** Maximum encoded length of a message, bytes; also the default limit of gRPC. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Maximum ranges in one list of a message. Further ranges are sent with the next handshake. */
export const MAX_RANGES = 100_000;
/** Maximum frames in a batch. */
export const MAX_BATCH_FRAMES = 4096;
/** Maximum payload of a frame, bytes: the limit of ISO transport. */
export const MAX_FRAME_DATA_BYTES = 1785;
/** Maximum length of a text (an id, a name, a reason), bytes. */
export const MAX_TEXT_BYTES = 256;
/** Maximum texts in one list of a message. */
export const MAX_TEXTS = 64;
/** Length of an epoch, bytes. */
export const EPOCH_BYTES = 16;

/** Maximum digests in one list of a message: twice the number that a recording keeps. */
export const MAX_DIGESTS: number = 2 * MAX_WINDOW_DIGESTS;
/** Maximum former epochs in one list of a message. */
export const MAX_FORMER_EPOCHS = 64;

/** Optional parts of the protocol, explained in `replication.proto`. */
export const FEATURES = ["batch", "void", "bus", "quiet-status", "digest", "former"] as const;
/** Name of an optional part of the protocol. */
export type Feature = typeof FEATURES[number];

/** Identity and state of the boat. Numbers are integers below 2^53; ends of ranges are exclusive. */
export interface HandshakeRequest {
  instanceId: string;
  /** Highest sequence number; 0 before the first frame. */
  headSeq: number;
  journalBytes: number;
  /** 16 bytes that identify the epoch; undefined for boats with other software. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  features: readonly string[];
  /** Skipped sequence numbers, which never had a frame. */
  void: readonly Range[];
  /** Oldest sequence number that the boat can still send; 0: none, or not reported. */
  oldestSeq: number;
  /** Names of the buses by index. */
  busNames: readonly string[];
  /** Frames that the boat had and can no longer send. */
  lost: readonly LostRange[];
  /** Earlier epochs of which the boat still has frames, newest first; default none. */
  former?: readonly FormerEpoch[];
  /** Digests of the recorded frames, oldest first; default none. */
  digests?: readonly WindowDigest[];
}

/** What a boat still has of an earlier epoch. */
export interface FormerEpoch {
  /** 16 bytes. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Highest sequence number known to the boat. */
  head: number;
  /** Oldest sequence number that the boat can still send. */
  oldest: number;
  /** Skipped sequence numbers, which never had a frame. */
  void: readonly Range[];
  /** Frames that the boat had and can no longer send. */
  lost: readonly LostRange[];
  /**
   * Digests of the frames that the cloud has reported to hold: it accepts nothing before it has compared them. Default
   * none.
   */
  digests?: readonly WindowDigest[];
}

/** What the cloud requests of an earlier epoch. */
export interface FormerHoles {
  /** 16 bytes. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Missing ranges; empty: complete, or the epoch is refused. */
  holes: readonly Range[];
  /** Why the epoch is refused, for people; absent: accepted. */
  refused?: string;
  /** True while the cloud holds frames of it that are not in its store yet; absent: all are, or it has no store. */
  isUnstored?: boolean;
}

/** Permanently lost frames. */
export interface LostRange extends Range {
  /** Why, for people. */
  reason: string;
}

/** What the cloud holds of the boat, and what it requests. */
export interface HandshakeResponse {
  /** The cloud holds every frame up to and including this sequence number. */
  cursor: number;
  holes: readonly Range[];
  /** First sequence number that the boat must send live. */
  liveStartFrom: number;
  /** Features that both sides have; none for clouds with other software. */
  features: readonly string[];
  /** False for a new instance. */
  known: boolean;
  /** Every frame up to and including this sequence number is on the cloud's disk. */
  durableThrough: number;
  /** Live frames per second on average; 0: unlimited. */
  rateLimit: number;
  /** Live frames in one burst. */
  rateBurst: number;
  /** What is requested of earlier epochs; default nothing. */
  formerHoles?: readonly FormerHoles[];
  /** Every frame up to and including this sequence number is in the cloud's store; absent: the cloud has none. */
  storedThrough?: number;
}

/** A frame as the boat sends it. */
export interface LiveFrame {
  /** 0: introduces a device; neither numbered nor recorded. */
  seq: number;
  /** Microseconds since 1970. */
  timestampUs: number;
  /** 29 bits of identifier; bits 29 and 30: index of the bus. */
  canId: number;
  /** The complete payload. After decoding: a view of the received message. */
  data: Uint8Array;
}

/** Progress of the boat. */
export interface BoatStatus {
  headSeq: number;
  journalBytes: number;
}

/** Message from the boat on the live stream. `unknown`: from newer software, ignored. */
export type LiveUpstream =
  | { kind: "frame"; frame: LiveFrame }
  | { kind: "status"; status: BoatStatus }
  | { kind: "batch"; frames: readonly LiveFrame[] }
  | { kind: "clock"; spans: readonly ClockSpan[] }
  | { kind: "unknown" };

/** Message from the cloud on the live stream. */
export interface LiveStatus {
  /** Every frame up to and including this sequence number is on the cloud's disk. */
  ackSeq: number;
  /** Highest sequence number received live; 0 from clouds with other software. */
  receivedThrough: number;
  /** As in {@linkcode HandshakeResponse}; absent also if nothing is known now. */
  storedThrough?: number;
  /** For how long the boat may collect frames before it sends them, milliseconds; absent: as briefly as it likes. */
  collectMs?: number;
}

/** A block of the journal as the boat sends it. None of the figures is trusted before the block itself is read. */
export interface BackfillBlock {
  baseSeq: number;
  /** Microseconds since 1970. */
  baseTimeUs: number;
  frameCount: number;
  /** One zstd frame, or the whole block. After decoding: a view of the received message. */
  data: Uint8Array;
  /** True: `data` is zstd. */
  compressed: boolean;
  /** Length of the uncompressed block, bytes. */
  blockSize: number;
  /** Offset in the file on the boat, bytes. */
  fileOffset: number;
  /** Length in the file on the boat, bytes. */
  length: number;
  /** 16 bytes that identify an earlier epoch; absent: the current one. */
  epoch?: Uint8Array<ArrayBuffer>;
}

/** Message from the boat on the backfill stream. */
export interface BackfillUpstream {
  /** Undefined in a message from newer software. */
  block: BackfillBlock | undefined;
}

/** Message from the cloud on the backfill stream. */
export interface BackfillStatus {
  /** The cloud holds every frame up to and including this sequence number. */
  continuousThrough: number;
  /** What is still missing. */
  remaining: readonly Range[];
  /** Ranges filled by the blocks since the last status. */
  filled: readonly Range[];
  rejected: readonly RejectedBlock[];
  /** 16 bytes that identify the earlier epoch that this status is about; absent: the current one. */
  epoch?: Uint8Array<ArrayBuffer>;
}

/** A block that the cloud refused. */
export interface RejectedBlock {
  baseSeq: number;
  /** Why, for people. */
  reason: string;
}

/** The features that both sides have, in the order of ours. */
export function commonFeatures(ours: readonly Feature[], theirs: readonly string[]): Feature[] {
  return ours.filter((feature) => theirs.includes(feature));
}
