import { AtomicFile, type DurableFile } from "../../base/mod.ts";
import type { Broker, DeviceRecord, RestoredDevice, Value } from "../../broker/mod.ts";
import {
  formatHex,
  formatName,
  MAX_DEVICE_ADDRESS,
  type Message,
  pgnOfId,
  readHex,
  readName,
} from "../../frame/mod.ts";
import { asRecord, readCount } from "../state/state_file.ts";

/** Name of the snapshot file in a boat's directory. */
export const SNAPSHOT_FILE = "snapshot.json";
/** Maximum size of the file; the devices of four buses and {@linkcode MAX_VALUES_BYTES} of values take half of it. */
export const MAX_SNAPSHOT_BYTES: number = 32 * 1024 * 1024;
/** Approximate maximum size of saved values: 65 536 of 8 bytes each. Serializing them blocks the event loop. */
const MAX_VALUES_BYTES = 8 * 1024 * 1024;
/** Approximate size of a saved value without its payload. */
const VALUE_OVERHEAD_BYTES = 100;

const VERSION = 1;

/** The devices and last values of a replica. */
export interface ReplicaSnapshot {
  /** Hex. */
  epoch: string;
  /** Number of the newest frame that the snapshot contains. */
  seq: number;
  /** Time of the newest frame, milliseconds since 1970; undefined: there was none. */
  timeMs: number | undefined;
  /** `lastMonoMs` is relative to the time of the snapshot, and therefore not above 0. */
  devices: RestoredDevice[];
  /** Newest message of each device and PGN; `monoMs` is 0. */
  values: { seq: number; message: Message }[];
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
  { buses, head, registry, values }: Broker,
  { epoch, timeMs, nowMs }: Pick<ReplicaSnapshot, "epoch" | "timeMs"> & { nowMs: number },
): unknown {
  const devices = [...registry];
  return {
    version: VERSION,
    epoch,
    seq: head,
    time_ms: timeMs ?? null,
    buses,
    devices: devices.map((device) => encodeDevice(device, nowMs)),
    values: newestOf(devices.flatMap(({ bus, src }) => values.of(bus, src).map((value) => ({ bus, value }))))
      .map(({ bus, value: { seq, timeUs, id, data, length } }) => ({
        bus,
        id,
        seq,
        time_us: timeUs,
        data: formatHex(data, { start: 0, length }),
      })),
  };
}

/** The newest values up to {@linkcode MAX_VALUES_BYTES}, in the given order. */
function newestOf<V extends { value: Value }>(values: readonly V[]): readonly V[] {
  let freeBytes = MAX_VALUES_BYTES;
  const bytesOf = ({ value: { length } }: V) => VALUE_OVERHEAD_BYTES + 2 * length;
  if (values.reduce((sum, each) => sum + bytesOf(each), 0) <= freeBytes) return values;
  const kept = new Set(
    values.toSorted((a, b) => b.value.seq - a.value.seq).filter((each) => (freeBytes -= bytesOf(each)) >= 0),
  );
  return values.filter((each) => kept.has(each));
}

function encodeDevice(
  { name, fields: _, firstUs, lastUs, lastMonoMs, ...device }: DeviceRecord,
  nowMs: number,
): unknown {
  const times = { first_us: firstUs, last_us: lastUs, silent_ms: Math.max(0, nowMs - lastMonoMs) };
  return { ...device, ...(name !== undefined && { name: formatName(name) }), ...times };
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
  const busOf = (value: unknown) => buses.indexOf(String(readList(found, "buses")[Number(value)]));
  const isHere = ({ bus }: { bus: number }) => bus >= 0;
  const devices = readList(found, "devices").map((each) => readDevice(asRecord(each), busOf)).filter(isHere);
  requireUnique(devices.map(({ bus, src }) => `${bus} ${src}`));
  requireUnique(devices.filter(({ name }) => name !== undefined).map(({ bus, name }) => `${bus} ${name}`));
  const values = readList(found, "values").map((each) => readValue(asRecord(each), busOf));
  if (values.some((value) => value.seq > seq)) throw new TypeError(`a value is newer than "seq"`);
  const timeMs = found["time_ms"] === null ? undefined : readNumber(found, "time_ms");
  return { epoch, seq, timeMs, devices, values: values.filter(({ message }) => isHere(message)) };
}

function readDevice(found: Record<string, unknown>, busOf: (value: unknown) => number): RestoredDevice {
  const src = readCount(found, "src");
  if (src > MAX_DEVICE_ADDRESS) throw new TypeError("a device has an impossible address");
  const text = found["name"];
  const name = typeof text === "string" ? readName(text) : undefined;
  if (text !== undefined && !name) throw new TypeError("a device has an invalid NAME");
  return {
    bus: busOf(found["bus"]),
    src,
    name,
    product: found["product"] === undefined ? undefined : readProduct(asRecord(found["product"])),
    firstUs: readCount(found, "first_us"),
    lastUs: readCount(found, "last_us"),
    lastMonoMs: -readNumber(found, "silent_ms"),
    packets: readCount(found, "packets"),
    bytes: readCount(found, "bytes"),
  };
}

function readProduct(found: Record<string, unknown>): NonNullable<RestoredDevice["product"]> {
  return {
    productCode: readCount(found, "productCode"),
    modelId: readText(found, "modelId"),
    softwareVersion: readText(found, "softwareVersion"),
    modelVersion: readText(found, "modelVersion"),
    modelSerial: readText(found, "modelSerial"),
  };
}

function readValue(
  found: Record<string, unknown>,
  busOf: (value: unknown) => number,
): ReplicaSnapshot["values"][number] {
  const id = readCount(found, "id");
  const hex = found["data"];
  const data = typeof hex === "string" ? hex === "" ? new Uint8Array(0) : readHex(hex) : undefined;
  if (id >= 2 ** 29 || !data) throw new TypeError("a value has an invalid id or payload");
  const timeUs = readCount(found, "time_us");
  const message = { bus: busOf(found["bus"]), id, pgn: pgnOfId(id), timeUs, monoMs: 0 };
  return { seq: readCount(found, "seq"), message: { ...message, data, offset: 0, length: data.length } };
}

function requireUnique(keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) throw new TypeError("two devices share an address or a NAME");
}

function readText(found: Record<string, unknown>, key: string): string {
  const value = found[key];
  if (typeof value === "string") return value;
  throw new TypeError(`"${key}" is not a text`);
}

function readList(found: Record<string, unknown>, key: string): readonly unknown[] {
  const value = found[key];
  if (!Array.isArray(value)) throw new TypeError(`"${key}" is not a list`);
  return value;
}

function readNumber(found: Record<string, unknown>, key: string): number {
  const value = found[key];
  if (typeof value === "number" && value >= 0) return value;
  throw new TypeError(`"${key}" is not a number`);
}
