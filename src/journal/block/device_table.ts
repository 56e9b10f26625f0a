import { BARE_ENTRY_BYTES, MAX_TABLE_BYTES } from "./layout.ts";
import { BlockError } from "../errors.ts";
import { concat, encodeEntryBuses, type NotesOfTable, readMetadata, shortText } from "./metadata.ts";
import type { BlockDevice, BlockMetadata } from "../types.ts";

/** What a table says of a device's product. */
export type DeviceProduct = Pick<
  BlockDevice,
  "productCode" | "modelId" | "softwareVersion" | "modelVersion" | "modelSerial"
>;

/** Of a device of which only the NAME is known. */
export const NO_PRODUCT: DeviceProduct = {
  productCode: 0,
  modelId: "",
  softwareVersion: "",
  modelVersion: "",
  modelSerial: "",
};

const COUNT_BYTES = 2;
/** Bytes in front of the four texts: source, NAME, active from, product code. */
const FIXED_BYTES = 15;
const TEXTS = 4;

/** Bytes that an entry takes in the note of the buses. */
export const ENTRY_BUS_BYTES = 1;
/** Bytes of an entry without texts. */
const BARE_BYTES = BARE_ENTRY_BYTES + ENTRY_BUS_BYTES;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An entry on its way into a table. */
export interface Entry {
  bus: number;
  bytes: Uint8Array;
}

/**
 * Writes an entry.
 *
 * @param options.maxTextBytes longer texts are cut
 */
export function encodeEntry(device: BlockDevice, { maxTextBytes = 255 } = {}): Entry {
  const fixed = new Uint8Array(FIXED_BYTES);
  const view = new DataView(fixed.buffer);
  view.setUint8(0, device.src);
  view.setBigUint64(1, device.name, true);
  view.setUint32(9, device.activeFrom, true);
  view.setUint16(13, device.productCode, true);
  const texts = [device.modelId, device.softwareVersion, device.modelVersion, device.modelSerial];
  return { bus: device.bus, bytes: concat([fixed, ...texts.map((text) => shortText(text, maxTextBytes))]) };
}

/**
 * Writes the entries of devices that are known when a block begins, in at most `room` bytes with their part of the note
 * of the buses. Where not all have room, the last ones lose their texts, and only then their entry: who sent a frame is
 * worth more than what it is called.
 */
export function encodeEntries(devices: readonly BlockDevice[], { room }: { room: number }): Entry[] {
  const known = devices.filter(({ name }) => name !== 0n).slice(0, Math.max(0, Math.floor(room / BARE_BYTES)));
  let spare = room - known.length * BARE_BYTES;
  return known.map((device) => {
    const whole = encodeEntry({ ...device, activeFrom: 0 });
    const texts = whole.bytes.length - BARE_ENTRY_BYTES;
    if (texts > spare) return encodeEntry({ ...device, ...NO_PRODUCT, activeFrom: 0 });
    spare -= texts;
    return whole;
  });
}

/** Writes the whole region of the table: entries, and what stands behind them. */
export function encodeTable(entries: readonly Entry[], notes: Uint8Array): Uint8Array<ArrayBuffer> {
  const count = Uint8Array.of(entries.length & 0xff, entries.length >> 8);
  const buses = encodeEntryBuses(entries.map(({ bus }) => bus));
  const table = concat([count, ...entries.map(({ bytes }) => bytes), notes, buses]);
  if (table.length > MAX_TABLE_BYTES) throw new RangeError(`Cannot write a device table of ${table.length} bytes`);
  return table;
}

/** Where the counted entries of a table end. @throws {BlockError} they leave the table */
export function checkEntries(table: Uint8Array): number {
  const count = table.length < COUNT_BYTES ? 0 : (table[0] ?? 0) | ((table[1] ?? 0) << 8);
  let at = COUNT_BYTES;
  for (let i = 0; i < count; i++) {
    at += FIXED_BYTES;
    for (let text = 0; text < TEXTS; text++) at += 1 + (at < table.length ? table[at] ?? 0 : 0);
    if (at > table.length) throw new BlockError("device-table", `Device ${i} of ${count} leaves the device table`);
  }
  return Math.min(at, table.length);
}

/** Reads a table whose entries have been {@linkcode checkEntries | checked}. */
export function readTable(table: Uint8Array, entriesEnd: number): { devices: BlockDevice[]; notes: BlockMetadata } {
  const { notes, entryBuses }: NotesOfTable = readMetadata(table.subarray(entriesEnd));
  const view = new DataView(table.buffer, table.byteOffset, table.length);
  const devices: BlockDevice[] = [];
  for (let at = COUNT_BYTES; at < entriesEnd;) {
    const entry = at;
    at += FIXED_BYTES;
    const text = () => {
      const start = at + 1;
      at = start + view.getUint8(at);
      return decoder.decode(table.subarray(start, at));
    };
    devices.push({
      bus: entryBuses?.[devices.length] ?? 0,
      src: view.getUint8(entry),
      name: view.getBigUint64(entry + 1, true),
      activeFrom: view.getUint32(entry + 9, true),
      productCode: view.getUint16(entry + 13, true),
      modelId: text(),
      softwareVersion: text(),
      modelVersion: text(),
      modelSerial: text(),
    });
  }
  return { devices, notes };
}
