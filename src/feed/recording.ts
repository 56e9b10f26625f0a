import type { Clock, Logger } from "../base/mod.ts";
import type { Broker, DeviceRecord } from "../broker/mod.ts";
import { type BlockDevice, type BusCounts, Journal, NO_PRODUCT, type RetentionSettings } from "../journal/mod.ts";
import type { EpochChanges } from "./numbers.ts";

/** Where and how a boat records. */
export interface RecordingOptions {
  /** Directory of the journal's files. */
  directory: string;
  /** Directory of what must survive beside them: which numbers were given out. */
  stateDirectory: string;
  /** First part of the files' names, default `nmea2k`. */
  prefix?: string;
  /** Bytes of a block, a power of two; default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** A new file begins after so long, milliseconds; 0 (the default) never. */
  rotateDurationMs?: number;
  /** A new file begins when one is larger, bytes; 0 (the default) never. */
  rotateBytes?: number;
  /** Longest time that a frame is in memory alone, milliseconds; default 1000. */
  syncIntervalMs?: number;
  /** Most bytes that wait while nothing can be written; then frames are lost, and told. Default 32 MiB. */
  maxBacklogBytes?: number;
  /** Blocks that took at least so long to fill are packed small, in a thread of their own, milliseconds; default 30 s. */
  slowBlockMs?: number;
  /** Which files are kept; left out: all. */
  retention?: RetentionSettings;
  /** Program that archives files; see the retention's `archive`. */
  archiveCommand?: string;
  /** Instance id of the boat, which that program gets; default the prefix. */
  instanceId?: string;
  /**
   * How often files are looked after, milliseconds; for tests.
   *
   * @internal
   */
  lookEveryMs?: number;
  /**
   * Numbers reserved on disk at once; for tests.
   *
   * @internal
   */
  reserve?: number;
}

/** What a block says of a device. */
function blockDevice({ bus, src, name = 0n, product = NO_PRODUCT }: DeviceRecord): BlockDevice {
  return { bus, src, name, activeFrom: 0, ...product };
}

/**
 * Opens the journal of a boat, which continues where the last recording ended. Its blocks tell who is on the buses and
 * what these have counted.
 *
 * @throws {FileError} the directory is used by another process, or cannot be written
 */
export async function openRecording(
  options: RecordingOptions,
  { broker: { buses, registry }, counts, changes, clock, log }: {
    broker: Broker;
    counts: () => readonly BusCounts[];
    changes: EpochChanges;
    clock: Clock;
    log: Logger;
  },
): Promise<Journal> {
  return await Journal.open({
    ...options,
    buses,
    devices: () => Array.from(registry, blockDevice).filter(({ name }) => name !== 0n),
    productOf: (bus, src) => registry.get(bus, src)?.product,
    counts,
    onNewEpoch: (epoch) => changes.begin(epoch),
    clock,
    log,
  });
}
