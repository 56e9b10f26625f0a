import { DEFAULT_BLOCK_BYTES, MAX_BLOCK_BYTES } from "../../journal/mod.ts";

/** What may be set for all boats of a cloud. Each may change while it runs. */
export interface InstanceSettings {
  /** Live frames a second on average of one boat; 0: as many as come. */
  rateLimit: number;
  /** Live frames of one boat at once. */
  rateBurst: number;
  /** Frames that a boat's live stream may be behind the boat before it is ended; 0: as many as it is. */
  maxLiveLagFrames: number;
  /** Longest time that a live frame is in memory alone, milliseconds. */
  syncIntervalMs: number;
  /** A new file of live frames begins after so long, milliseconds; 0: never. */
  rotateDurationMs: number;
  /** A new file of live frames begins when one is larger, bytes; 0: never. */
  rotateBytes: number;
  /** Bytes of a block of live frames, a power of two. */
  blockBytes: number;
  /** Live frames of one boat that wait in memory for a disk, bytes; what comes beyond that the boat sends again later. */
  maxBacklogBytes: number;
  /** How blocks lie on disk. */
  compression: "none" | "zstd";
  /** What a boat that is away has open is closed after so long without use, milliseconds. */
  brokerIdleTimeoutMs: number;
  /** Most boats that are open although nobody uses them: those that were used longest ago are closed before their time. */
  maxIdleBrokers: number;
  /** Frames in the ring of a boat that is here. */
  ringFrames: number;
  /** A device that was silent for so long, by the boat's newest frame, is forgotten; milliseconds, 0: never. */
  deviceIdleTimeoutMs: number;
  /** Sessions wait for what is missing while the boat is connected, and for so long after it has gone, milliseconds. */
  holeGraceMs: number;
  /** So long after a boat was last heard of, another machine with its identity is refused, milliseconds. */
  copyRefuseMs: number;
  /** Most boats that are known. */
  maxInstances: number;
  /** Largest block that is taken from a boat, bytes unpacked. */
  maxBlockBytes: number;
}

/** What holds where nothing is set. */
export const INSTANCE_DEFAULTS: InstanceSettings = {
  rateLimit: 2000,
  rateBurst: 500,
  maxLiveLagFrames: 10_000,
  syncIntervalMs: 1000,
  rotateDurationMs: 3_600_000,
  rotateBytes: 0,
  blockBytes: DEFAULT_BLOCK_BYTES,
  maxBacklogBytes: 2 * 1024 * 1024,
  compression: "zstd",
  brokerIdleTimeoutMs: 300_000,
  maxIdleBrokers: 500,
  ringFrames: 65_536,
  deviceIdleTimeoutMs: 300_000,
  holeGraceMs: 30_000,
  copyRefuseMs: 3_600_000,
  maxInstances: 10_000,
  maxBlockBytes: MAX_BLOCK_BYTES,
};
