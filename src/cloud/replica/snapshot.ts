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

/** Name of the file in a boat's directory. */
export const SNAPSHOT_FILE = "snapshot.json";
/** Largest file that is read: the devices of four buses, and as many values as are kept, have half of it. */
export const MAX_SNAPSHOT_BYTES: number = 32 * 1024 * 1024;
/** Values that are written down take about so much: 65 536 of 8 bytes each. To write one holds up everybody. */
const MAX_VALUES_BYTES = 8 * 1024 * 1024;
/** What a value takes beside its payload. */
const VALUE_ROOM_BYTES = 100;

const VERSION = 1;

/** What a replica knew of its boat. */
export interface ReplicaSnapshot {
  /** The run of numbers, hex. */
  epoch: string;
  /** Number of the newest frame that it knew. */
  seq: number;
  /** The boat's time at that frame, milliseconds since 1970; undefined: it had heard none. */
  timeMs: number | undefined;
  /** `lastMonoMs` counts from when the snapshot was made, and so is not above 0. */
  devices: RestoredDevice[];
  /** Newest message of each device and PGN; `monoMs` says nothing. */
  values: { seq: number; message: Message }[];
}

/** The file of a boat's snapshot, in the boat's directory. Written whole and synced. */
export function snapshotFile(directory: string): DurableFile {
  return new AtomicFile(directory, { name: SNAPSHOT_FILE, maxBytes: MAX_SNAPSHOT_BYTES });
}

/**
 * What a broker knows, as it is written down. Of values that are too much the newest are kept.
 *
 * @param options.nowMs in the time that the broker's messages come with as `monoMs`
 */
export function keptSnapshot(
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
    devices: devices.map((device) => keptDevice(device, nowMs)),
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

/** The newest values, as many as there is room for, in the order in which they came. */
function newestOf<V extends { value: Value }>(values: readonly V[]): readonly V[] {
  let room = MAX_VALUES_BYTES;
  const bytesOf = ({ value: { length } }: V) => VALUE_ROOM_BYTES + 2 * length;
  if (values.reduce((sum, each) => sum + bytesOf(each), 0) <= room) return values;
  const kept = new Set(
    values.toSorted((a, b) => b.value.seq - a.value.seq).filter((each) => (room -= bytesOf(each)) >= 0),
  );
  return values.filter((each) => kept.has(each));
}

function keptDevice({ name, fields: _, firstUs, lastUs, lastMonoMs, ...device }: DeviceRecord, nowMs: number): unknown {
  const times = { first_us: firstUs, last_us: lastUs, silent_ms: Math.max(0, nowMs - lastMonoMs) };
  return { ...device, ...(name !== undefined && { name: formatName(name) }), ...times };
}

/**
 * Reads what {@linkcode keptSnapshot} gave. What was heard on buses of other names is left out.
 *
 * @param buses names of the buses, in the order of their indexes
 * @throws {SyntaxError} it is no JSON
 * @throws {TypeError} it is no snapshot, or contradicts itself
 */
export function parseSnapshot(text: string, buses: readonly string[]): ReplicaSnapshot {
  const found = record(JSON.parse(text));
  if (found["version"] !== VERSION) throw new TypeError(`it is no snapshot of version ${VERSION}`);
  const { epoch } = found;
  if (typeof epoch !== "string") throw new TypeError("it has no epoch");
  const seq = readCount(found, "seq");
  const busOf = (value: unknown) => buses.indexOf(String(readList(found, "buses")[Number(value)]));
  const isHere = ({ bus }: { bus: number }) => bus >= 0;
  const devices = readList(found, "devices").map((each) => readDevice(record(each), busOf)).filter(isHere);
  requireApart(devices.map(({ bus, src }) => `${bus} ${src}`));
  requireApart(devices.filter(({ name }) => name !== undefined).map(({ bus, name }) => `${bus} ${name}`));
  const values = readList(found, "values").map((each) => readValue(record(each), busOf));
  if (values.some((value) => value.seq > seq)) throw new TypeError("it has a value of later");
  const timeMs = found["time_ms"] === null ? undefined : readNumber(found, "time_ms");
  return { epoch, seq, timeMs, devices, values: values.filter(({ message }) => isHere(message)) };
}

function readDevice(found: Record<string, unknown>, busOf: (value: unknown) => number): RestoredDevice {
  const src = readCount(found, "src");
  if (src > MAX_DEVICE_ADDRESS) throw new TypeError("it has a device at no possible address");
  const text = found["name"];
  const name = typeof text === "string" ? readName(text) : undefined;
  if (text !== undefined && !name) throw new TypeError("it has a NAME that is none");
  return {
    bus: busOf(found["bus"]),
    src,
    name,
    product: found["product"] === undefined ? undefined : readProduct(record(found["product"])),
    firstUs: readCount(found, "first_us"),
    lastUs: readCount(found, "last_us"),
    lastMonoMs: -readNumber(found, "silent_ms"),
    packets: readCount(found, "packets"),
    bytes: readCount(found, "bytes"),
  };
}

function readProduct(found: Record<string, unknown>): NonNullable<RestoredDevice["product"]> {
  const text = (key: string) => {
    const value = found[key];
    if (typeof value !== "string") throw new TypeError(`it has a product without "${key}"`);
    return value;
  };
  return {
    productCode: readCount(found, "productCode"),
    modelId: text("modelId"),
    softwareVersion: text("softwareVersion"),
    modelVersion: text("modelVersion"),
    modelSerial: text("modelSerial"),
  };
}

function readValue(
  found: Record<string, unknown>,
  busOf: (value: unknown) => number,
): ReplicaSnapshot["values"][number] {
  const id = readCount(found, "id");
  const hex = found["data"];
  const data = typeof hex === "string" ? hex === "" ? new Uint8Array(0) : readHex(hex) : undefined;
  if (id >= 2 ** 29 || !data) throw new TypeError("it has a value that is none");
  const timeUs = readCount(found, "time_us");
  const message = { bus: busOf(found["bus"]), id, pgn: pgnOfId(id), timeUs, monoMs: 0 };
  return { seq: readCount(found, "seq"), message: { ...message, data, offset: 0, length: data.length } };
}

function requireApart(keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) throw new TypeError("it has two devices at one address, or one at two");
}

function readList(found: Record<string, unknown>, key: string): readonly unknown[] {
  const value = found[key];
  if (!Array.isArray(value)) throw new TypeError(`its "${key}" is no list`);
  return value;
}

function readNumber(found: Record<string, unknown>, key: string): number {
  const value = found[key];
  if (typeof value === "number" && value >= 0) return value;
  throw new TypeError(`its "${key}" is no number`);
}

function readCount(found: Record<string, unknown>, key: string): number {
  const value = readNumber(found, key);
  if (Number.isSafeInteger(value)) return value;
  throw new TypeError(`its "${key}" is no whole number`);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
