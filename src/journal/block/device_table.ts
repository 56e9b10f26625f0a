import { BARE_ENTRY_BYTES, MAX_TABLE_BYTES } from "./layout.ts";
import { BlockError } from "../errors.ts";
import { concat, encodeEntryBuses, readMetadata, shortText } from "./metadata.ts";
import type { BlockDevice, BlockMetadata } from "../types.ts";

/** Product information of a device. */
export type DeviceProduct = Pick<
  BlockDevice,
  "productCode" | "modelId" | "softwareVersion" | "modelVersion" | "modelSerial"
>;

/** Placeholder for unknown product information. */
export const NO_PRODUCT: DeviceProduct = {
  productCode: 0,
  modelId: "",
  softwareVersion: "",
  modelVersion: "",
  modelSerial: "",
};

const COUNT_BYTES = 2;
/** Bytes before the four texts: source, NAME, active from, product code. */
const FIXED_BYTES = 15;
const TEXTS = 4;

/** Bytes of an entry's bus, which is stored in the block metadata. */
export const ENTRY_BUS_BYTES = 1;
/** Bytes of an entry without texts. */
const BARE_BYTES = BARE_ENTRY_BYTES + ENTRY_BUS_BYTES;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An encoded entry. */
export interface Entry {
  bus: number;
  bytes: Uint8Array;
}

/** Encodes an entry. Longer texts are truncated to `maxTextBytes`. */
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
 * Encodes the devices known at the start of a block into at most `maxBytes`, including their buses. If space is short,
 * the last devices lose their texts first and their entries last: the NAME matters more than product information.
 */
export function encodeEntries(devices: readonly BlockDevice[], { maxBytes }: { maxBytes: number }): Entry[] {
  const known = devices.filter(({ name }) => name !== 0n).slice(0, Math.max(0, Math.floor(maxBytes / BARE_BYTES)));
  let spare = maxBytes - known.length * BARE_BYTES;
  return known.map((device) => {
    const complete = encodeEntry({ ...device, activeFrom: 0 });
    const texts = complete.bytes.length - BARE_ENTRY_BYTES;
    if (texts > spare) return encodeEntry({ ...device, ...NO_PRODUCT, activeFrom: 0 });
    spare -= texts;
    return complete;
  });
}

/** The table's region, of any length: entries and metadata. */
export function joinTable(entries: readonly Entry[], metadata: Uint8Array): Uint8Array<ArrayBuffer> {
  const count = Uint8Array.of(entries.length & 0xff, entries.length >> 8);
  const buses = encodeEntryBuses(entries.map(({ bus }) => bus));
  return concat([count, ...entries.map(({ bytes }) => bytes), metadata, buses]);
}

/** As {@linkcode joinTable}. @throws {RangeError} it is too long for a block */
export function encodeTable(entries: readonly Entry[], metadata: Uint8Array): Uint8Array<ArrayBuffer> {
  const table = joinTable(entries, metadata);
  if (table.length > MAX_TABLE_BYTES) throw new RangeError(`Cannot write a device table of ${table.length} bytes`);
  return table;
}

/** Offset after the counted entries of a table. @throws {BlockError} they exceed the table */
export function checkEntries(table: Uint8Array): number {
  const count = table.length < COUNT_BYTES ? 0 : (table[0] ?? 0) | ((table[1] ?? 0) << 8);
  let at = COUNT_BYTES;
  for (let i = 0; i < count; i++) {
    at += FIXED_BYTES;
    for (let text = 0; text < TEXTS; text++) at += 1 + (at < table.length ? table[at] ?? 0 : 0);
    if (at > table.length) throw new BlockError("device-table", `Device ${i} of ${count} exceeds the device table`);
  }
  return Math.min(at, table.length);
}

/** Reads a table that {@linkcode checkEntries} has checked. */
export function readTable(table: Uint8Array, entriesEnd: number): { devices: BlockDevice[]; metadata: BlockMetadata } {
  const { metadata, entryBuses } = readMetadata(table.subarray(entriesEnd));
  const view = new DataView(table.buffer, table.byteOffset, table.length);
  const devices: BlockDevice[] = [];
  for (let at = COUNT_BYTES; at < entriesEnd;) {
    const start = at;
    at += FIXED_BYTES;
    const text = () => {
      const textStart = at + 1;
      at = textStart + view.getUint8(at);
      return decoder.decode(table.subarray(textStart, at));
    };
    devices.push({
      bus: entryBuses?.[devices.length] ?? 0,
      src: view.getUint8(start),
      name: view.getBigUint64(start + 1, true),
      activeFrom: view.getUint32(start + 9, true),
      productCode: view.getUint16(start + 13, true),
      modelId: text(),
      softwareVersion: text(),
      modelVersion: text(),
      modelSerial: text(),
    });
  }
  return { devices, metadata };
}

/** Follows the device table of a block: which device holds which address at each frame. */
export class ActiveDevices {
  readonly #devices: readonly BlockDevice[];
  #at = 0;
  /** Index of the first frame for which the next device is active. */
  #nextFrom: number;

  /**
   * Begins before the first frame.
   *
   * @param devices in the order of the table; of two with the same address and first frame, the later one counts
   */
  constructor(devices: readonly BlockDevice[]) {
    this.#devices = devices.toSorted((one, other) => one.activeFrom - other.activeFrom);
    this.#nextFrom = this.#devices[0]?.activeFrom ?? Infinity;
  }

  /** Reports each device that is active at frame `index` and was not reported before. */
  advance(index: number, report: (device: BlockDevice) => void): void {
    while (this.#nextFrom <= index) {
      const device = this.#devices[this.#at++];
      this.#nextFrom = this.#devices[this.#at]?.activeFrom ?? Infinity;
      if (device) report(device);
    }
  }
}
