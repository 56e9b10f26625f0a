import type { Clock, DiskSpace, Logger } from "../base/mod.ts";
import type { Broker, DeviceRecord } from "../broker/mod.ts";
import {
  type BlockDevice,
  type BusCounts,
  Journal,
  NO_PRODUCT,
  type RetentionSettings,
  type StoredFrames,
} from "../journal/mod.ts";
import type { EpochChanges } from "./numbers.ts";

/** Options of a boat's recording. */
export interface RecordingOptions {
  /** Directory of the journal's files. */
  directory: string;
  /** Directory of the state that must survive a restart: the assigned sequence numbers. */
  stateDirectory: string;
  /** Prefix of the file names, default `nmea2k`. */
  prefix?: string;
  /** Block size, bytes; a power of two, default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** Age at which a file is rotated, milliseconds; default 0: never. */
  rotateDurationMs?: number;
  /** Size at which a file is rotated, bytes; default 0: never. */
  rotateBytes?: number;
  /** Longest time before a frame is synced to disk, milliseconds; default 1000. */
  syncIntervalMs?: number;
  /** Most bytes buffered while writing fails; beyond it frames are lost and reported. Default 32 MiB. */
  maxBacklogBytes?: number;
  /** Blocks that took at least this long to fill get the stronger compression, in a separate thread, milliseconds; default 30 s. */
  slowBlockMs?: number;
  /** Which files are retained; default: all. */
  retention?: RetentionSettings;
  /**
   * Whether retention keeps files past their age while the cloud has not stored them; default: unless the cloud has said
   * that it has no store. Without replication nothing is kept for that.
   */
  keepUnacknowledged?: boolean;
  /** Program that archives files; see the retention's `archive`. */
  archiveCommand?: string;
  /** Instance id of the boat, passed to that program; default: the prefix. */
  instanceId?: string;
  /** Signs complete files; default: none is signed. `keyFile`: private key, PEM; default in the state directory. */
  evidence?: { keyFile?: string | undefined };
  /**
   * Interval of file housekeeping, milliseconds; for tests.
   *
   * @internal
   */
  checkIntervalMs?: number;
  /**
   * Reads the space of the directory's file system; for tests.
   *
   * @internal
   */
  diskSpace?: (directory: string) => Promise<DiskSpace>;
  /**
   * Sequence numbers reserved on disk at once; for tests.
   *
   * @internal
   */
  reserve?: number;
}

const BOOT_ID_BYTES = 16;

/** Entry of a block's device table. */
function blockDevice({ bus, src, name = 0n, product = NO_PRODUCT }: DeviceRecord): BlockDevice {
  return { bus, src, name, activeFrom: 0, ...product };
}

/**
 * Opens the journal of a boat, which continues where the last recording ended. Its blocks include the device table and the
 * counters of the buses.
 *
 * @throws {FileError} the directory is in use by another process, or cannot be written
 */
export async function openRecording(
  options: RecordingOptions,
  { broker: { buses, registry }, stored, counts, changes, clock, log }: {
    broker: Broker;
    stored: StoredFrames | undefined;
    counts: () => readonly BusCounts[];
    changes: EpochChanges;
    clock: Clock;
    log: Logger;
  },
): Promise<Journal> {
  return await Journal.open({
    ...options,
    stored,
    buses,
    bootId: crypto.getRandomValues(new Uint8Array(BOOT_ID_BYTES)),
    devices: () => Array.from(registry, blockDevice).filter(({ name }) => name !== 0n),
    productOf: (bus, src) => registry.get(bus, src)?.product,
    counts,
    onNewEpoch: (epoch) => changes.begin(epoch),
    clock,
    log,
  });
}
