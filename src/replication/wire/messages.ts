import type { Range } from "../../base/mod.ts";
import { MAX_WINDOW_DIGESTS, type WindowDigest } from "../../journal/mod.ts";

/** Most bytes of a message on the wire; what peers take when nobody says otherwise. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Most ranges in one list of a message. Who has more sends some now and the rest at the next handshake. */
export const MAX_RANGES = 100_000;
/** Most frames in a batch. */
export const MAX_BATCH_FRAMES = 4096;
/** Most bytes of a frame: what ISO transport can carry. */
export const MAX_FRAME_DATA_BYTES = 1785;
/** Most bytes of a text: an id, a name, a reason. */
export const MAX_TEXT_BYTES = 256;
/** Most texts in one list of a message. */
export const MAX_TEXTS = 64;
/** Bytes of an epoch. */
export const EPOCH_BYTES = 16;

/** Most digests in one list of a message: what a recording keeps, twice over. */
export const MAX_DIGESTS: number = 2 * MAX_WINDOW_DIGESTS;
/** Most former epochs in one list of a message. */
export const MAX_FORMER_EPOCHS = 64;

/** What two sides may have in common, explained in `replication.proto`. */
export const FEATURES = ["batch", "void", "bus", "quiet-status", "digest", "former"] as const;
/** One of them. */
export type Feature = typeof FEATURES[number];

/** Who the boat is and what it has. Numbers are whole and below 2^53; ends of ranges are exclusive. */
export interface HandshakeRequest {
  instanceId: string;
  /** Last number that was given out; 0 before the first frame. */
  headSeq: number;
  journalBytes: number;
  /** 16 bytes that name the run of numbers; a peer does not say them. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  features: readonly string[];
  /** Numbers that never had a frame. */
  void: readonly Range[];
  /** Oldest number that the boat can still send; 0: none, or a peer's. */
  oldestSeq: number;
  /** Names of the buses by index. */
  busNames: readonly string[];
  /** Frames that the boat had and cannot send any more. */
  lost: readonly LostRange[];
  /** Epochs before this one of which the boat still has frames, newest first; default none. */
  former?: readonly FormerEpoch[];
  /** Digests of what the boat has recorded, oldest first; default none. */
  digests?: readonly WindowDigest[];
}

/** What a boat has of an epoch that has ended. */
export interface FormerEpoch {
  /** 16 bytes. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Its last number that the boat knows of. */
  head: number;
  /** Oldest number that the boat can still send. */
  oldest: number;
  /** Numbers that never had a frame. */
  void: readonly Range[];
  /** Frames that the boat had and cannot send any more. */
  lost: readonly LostRange[];
  /** Of what the cloud has, so it said before: it takes nothing before it has compared them. Default none. */
  digests?: readonly WindowDigest[];
}

/** What the cloud wants of a former epoch. */
export interface FormerHoles {
  /** 16 bytes. */
  epoch: Uint8Array<ArrayBuffer>;
  /** What is missing; none: everything is there, or nothing is taken. */
  holes: readonly Range[];
  /** Why nothing of it is taken, for people; left out: it is. */
  refused?: string;
}

/** Frames that are gone for ever, and why. */
export interface LostRange extends Range {
  /** For people. */
  reason: string;
}

/** What the cloud holds of the boat, and wants. */
export interface HandshakeResponse {
  /** Everything up to and with this number is there. */
  cursor: number;
  holes: readonly Range[];
  /** First number that is to be sent live. */
  liveStartFrom: number;
  /** Those that both sides have; none at a peer's. */
  features: readonly string[];
  /** Whether the instance was here before. */
  known: boolean;
  /** Everything up to and with this number is on the cloud's disk. */
  durableThrough: number;
  /** Live frames a second on average; 0: as many as come. */
  rateLimit: number;
  /** Live frames at once. */
  rateBurst: number;
  /** What is wanted of the boat's former epochs; default nothing. */
  formerHoles?: readonly FormerHoles[];
}

/** A frame on its way to the cloud. */
export interface LiveFrame {
  /** 0: tells about a device, is never numbered nor recorded. */
  seq: number;
  /** Microseconds since 1970. */
  timestampUs: number;
  /** 29 bits of identifier; bits 29 and 30: index of the bus. */
  canId: number;
  /** The whole payload. In what was decoded: a view of the received message. */
  data: Uint8Array;
}

/** How far the boat is. */
export interface BoatStatus {
  headSeq: number;
  journalBytes: number;
}

/** What the boat says on the live stream. `unknown` is what newer boats may say: nothing for us. */
export type LiveUpstream =
  | { kind: "frame"; frame: LiveFrame }
  | { kind: "status"; status: BoatStatus }
  | { kind: "batch"; frames: readonly LiveFrame[] }
  | { kind: "unknown" };

/** What the cloud says on the live stream. */
export interface LiveStatus {
  /** Everything up to and with this number is on the cloud's disk. */
  ackSeq: number;
  /** Highest live number that has come; 0 at a peer's. */
  receivedThrough: number;
}

/** A block of the journal on its way to the cloud. Nothing in it is to be believed before the block was read. */
export interface BackfillBlock {
  baseSeq: number;
  /** Microseconds since 1970. */
  baseTimeUs: number;
  frameCount: number;
  /** One zstd frame, or the whole block. In what was decoded: a view of the received message. */
  data: Uint8Array;
  /** Whether `data` is zstd. */
  compressed: boolean;
  /** Bytes of the block when it is unpacked. */
  blockSize: number;
  /** Where it lies on the boat: place in the file … */
  fileOffset: number;
  /** … and bytes there. */
  length: number;
  /** 16 bytes that name the former epoch it is of; left out: the current one. */
  epoch?: Uint8Array<ArrayBuffer>;
}

/** What the boat says on the backfill stream. */
export interface BackfillUpstream {
  /** Nothing when a newer boat says something else. */
  block: BackfillBlock | undefined;
}

/** What the cloud says on the backfill stream. */
export interface BackfillStatus {
  /** Everything up to and with this number is there. */
  continuousThrough: number;
  /** What is still missing. */
  remaining: readonly Range[];
  /** What the blocks since the last status have brought. */
  filled: readonly Range[];
  rejected: readonly RejectedBlock[];
  /** 16 bytes that name the former epoch that all of this is about; left out: the current one. */
  epoch?: Uint8Array<ArrayBuffer>;
}

/** A block that the cloud did not take. */
export interface RejectedBlock {
  baseSeq: number;
  /** For people. */
  reason: string;
}

/** The features that both sides have, in the order of ours. */
export function commonFeatures(ours: readonly Feature[], theirs: readonly string[]): Feature[] {
  return ours.filter((feature) => theirs.includes(feature));
}
