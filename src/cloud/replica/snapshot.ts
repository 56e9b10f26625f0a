import { asRecord, AtomicFile, type DurableFile, readCount, readNumber, readText } from "../../base/mod.ts";
import { type Broker, encodeTables, MAX_TABLES_BYTES, readTables, type SavedTables } from "../../broker/mod.ts";

/** Name of the snapshot file in a boat's directory. */
export const SNAPSHOT_FILE = "snapshot.json";
/** Maximum size of the file; the devices of four buses and {@linkcode MAX_TABLES_BYTES} of values take half of it. */
export const MAX_SNAPSHOT_BYTES: number = 4 * MAX_TABLES_BYTES;

const VERSION = 1;

/** The devices and last values of a replica. */
export interface ReplicaSnapshot extends SavedTables {
  /** Hex. */
  epoch: string;
  /** Number of the newest frame that the snapshot contains. */
  seq: number;
  /** Time of the newest frame, milliseconds since 1970; undefined: there was none. */
  timeMs: number | undefined;
}

/** The snapshot file in a boat's directory. */
export function snapshotFile(directory: string): DurableFile {
  return new AtomicFile(directory, { name: SNAPSHOT_FILE, maxBytes: MAX_SNAPSHOT_BYTES });
}

/**
 * The content of the snapshot file. Beyond the limit only the newest values are saved.
 *
 * @param options.nowMs current time on the clock of the messages' `monoMs`
 */
export function encodeSnapshot(
  broker: Broker,
  { epoch, timeMs, nowMs }: Pick<ReplicaSnapshot, "epoch" | "timeMs"> & { nowMs: number },
): unknown {
  const { head: seq, buses } = broker;
  return { version: VERSION, epoch, seq, time_ms: timeMs ?? null, buses, ...encodeTables(broker, nowMs) };
}

/**
 * Reads the content of a snapshot file. Devices and values of buses with other names are left out.
 *
 * @param buses names of the buses by index
 * @throws {SyntaxError} invalid JSON
 * @throws {TypeError} invalid or contradictory content
 */
export function parseSnapshot(text: string, buses: readonly string[]): ReplicaSnapshot {
  const found = asRecord(JSON.parse(text));
  if (found["version"] !== VERSION) throw new TypeError(`expected a snapshot of version ${VERSION}`);
  const epoch = readText(found, "epoch");
  const seq = readCount(found, "seq");
  const timeMs = found["time_ms"] === null ? undefined : readNumber(found, "time_ms");
  return { epoch, seq, timeMs, ...readTables(found, { buses, head: seq }) };
}
