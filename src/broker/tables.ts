import { asRecord, readCount, readList, readNumber, readText } from "../base/mod.ts";
import { formatHex, formatName, MAX_DEVICE_ADDRESS, type Message, pgnOfId, readHex, readName } from "../frame/mod.ts";
import type { Broker } from "./broker.ts";
import type { DeviceRecord, RestoredDevice } from "./registry.ts";
import type { Value } from "./values.ts";

/**
 * Approximate maximum size of saved values, bytes: 65 536 of 8 bytes each. Serializing them blocks the event loop. The
 * devices of four buses take as much again.
 */
export const MAX_TABLES_BYTES: number = 8 * 1024 * 1024;
/** Approximate size of a saved value without its payload. */
const VALUE_OVERHEAD_BYTES = 100;

/** Saved device table and last values. */
export interface SavedTables {
  /** `lastMonoMs` is relative to the time of saving, and therefore not above 0. */
  devices: RestoredDevice[];
  /** Newest message of each device and PGN; `monoMs` is 0. */
  values: { seq: number; message: Message }[];
}

/**
 * The device table and the last values as JSON. Beyond {@linkcode MAX_TABLES_BYTES} only the newest values are saved.
 *
 * @param nowMs current time on the clock of the messages' `monoMs`
 */
export function encodeTables({ registry, values }: Broker, nowMs: number): Record<"devices" | "values", unknown> {
  const devices = [...registry];
  return {
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

/** The newest values up to {@linkcode MAX_TABLES_BYTES}, in the given order. */
function newestOf<V extends { value: Value }>(values: readonly V[]): readonly V[] {
  let freeBytes = MAX_TABLES_BYTES;
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
 * Reads what {@linkcode encodeTables} gave. Devices and values of buses with other names are left out.
 *
 * @param found also has `buses`, the names at the time of saving
 * @param options.buses names of the buses by index
 * @param options.head number of the newest frame
 * @throws {TypeError} invalid or contradictory content
 */
export function readTables(
  found: Record<string, unknown>,
  { buses, head }: { buses: readonly string[]; head: number },
): SavedTables {
  const busOf = (value: unknown) => buses.indexOf(String(readList(found, "buses")[Number(value)]));
  const isHere = ({ bus }: { bus: number }) => bus >= 0;
  const devices = readList(found, "devices").map((each) => readDevice(asRecord(each), busOf)).filter(isHere);
  requireUnique(devices.map(({ bus, src }) => `${bus} ${src}`));
  requireUnique(devices.filter(({ name }) => name !== undefined).map(({ bus, name }) => `${bus} ${name}`));
  const values = readList(found, "values").map((each) => readValue(asRecord(each), busOf));
  if (values.some(({ seq }) => seq > head)) throw new TypeError(`a value is newer than "seq"`);
  return { devices, values: values.filter(({ message }) => isHere(message)) };
}

/**
 * Fills the tables of a new broker with saved ones.
 *
 * @param nowMs time of saving on the clock of the messages' `monoMs`
 */
export function restoreTables(broker: Broker, { devices, values }: SavedTables, nowMs = 0): void {
  for (const device of devices) broker.registry.restore({ ...device, lastMonoMs: nowMs + device.lastMonoMs });
  for (const { seq, message } of values) broker.values.set(seq, message);
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
): SavedTables["values"][number] {
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
