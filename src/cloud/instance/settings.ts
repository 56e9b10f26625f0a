import { DEFAULT_BLOCK_BYTES, MAX_BLOCK_BYTES } from "../../journal/mod.ts";

/** Settings of all boats of a cloud. Each may change while the cloud runs. */
export interface InstanceSettings {
  /** Live frames a second that one boat may send on average; 0: no limit. Default 2000. */
  rateLimit: number;
  /** Live frames that one boat may send at once; default 500. */
  rateBurst: number;
  /** Time for which a boat that nobody reads collects frames before it sends them, milliseconds; default 1 s. */
  collectMs: number;
  /** Frames that a live stream may lag behind its boat before it is closed; 0: no limit. Default 10 000. */
  maxLiveLagFrames: number;
  /** Maximum time before a live frame is synced to disk, milliseconds; default 1000. */
  syncIntervalMs: number;
  /** A new file of live frames starts after this time, milliseconds; 0: never. Default 1 h. */
  rotateDurationMs: number;
  /** A new file of live frames starts beyond this size, bytes; 0 (the default): never. */
  rotateBytes: number;
  /** Size of a block of live frames, bytes, a power of two; default 256 KiB. */
  blockBytes: number;
  /** Live frames of one boat that wait in memory for a slow disk, bytes; the boat sends further ones again. Default 2 MiB. */
  maxBacklogBytes: number;
  /** Compression of blocks on disk; default `zstd`. */
  compression: "none" | "zstd";
  /** Replica and files of a disconnected boat are closed after this time without a reader, milliseconds; default 5 min. */
  brokerIdleTimeoutMs: number;
  /** Maximum boats that are open but unused; beyond it the least recently used are closed. Default 500. */
  maxIdleBrokers: number;
  /** Capacity of a replica's ring, frames, a power of two; default 65 536. */
  ringFrames: number;
  /** A device that is silent for this time, by the times of the boat's frames, is removed; milliseconds, 0: never. Default 5 min. */
  deviceIdleTimeoutMs: number;
  /** Sessions wait for missing frames while the boat is connected and for this time after, milliseconds; default 30 s. */
  holeGraceMs: number;
  /** For this time after a boat's last message another machine with its identity is refused, milliseconds; default 1 h. */
  copyRefuseMs: number;
  /** Maximum boats, default 10 000. */
  maxInstances: number;
  /** Maximum size of a block from a boat, bytes, uncompressed; default {@linkcode MAX_BLOCK_BYTES}. */
  maxBlockBytes: number;
}

/** Default settings. */
export const INSTANCE_DEFAULTS: InstanceSettings = {
  rateLimit: 2000,
  rateBurst: 500,
  collectMs: 1000,
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
