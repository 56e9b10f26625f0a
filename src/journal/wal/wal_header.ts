import { decodeBusCounts, encodeBusCounts } from "../block/bus_counts.ts";
import { decodeDigestNote, encodeDigestNote } from "../digest/window_digest.ts";
import { type BlockDevice, type BlockMetadata, type BootRecord, type Gap, MAX_BUSES } from "../types.ts";

/** State at the start of a block, from which recovery rebuilds it. */
export interface Opening {
  /** Devices by address. */
  devices: readonly BlockDevice[];
  /** Metadata of the block. */
  notes: BlockMetadata;
}

/** Encodes as JSON without bigints and bytes. The epoch is in the WAL's header. */
export function encodeOpening({ devices, notes: { buses, boot, gap, digests, counts } }: Opening): unknown {
  return {
    devices: devices.map((device) => ({ ...device, name: device.name.toString(16) })),
    buses,
    boot: boot && { ...boot, bootId: boot.bootId.toHex() },
    gap,
    digests: digests && encodeDigestNote(digests).toHex(),
    counts: counts && encodeBusCounts(counts).toHex(),
  };
}

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function isHex(value: unknown, digits: number): value is string {
  return typeof value === "string" && value.length <= digits && /^[0-9a-f]+$/.test(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function decodeDevice(value: unknown): BlockDevice[] {
  if (!isFields(value) || !isHex(value.name, 16) || !isCount(value.src) || !isCount(value.bus)) return [];
  const { bus, src, productCode, modelId, softwareVersion, modelVersion, modelSerial } = value;
  return [{
    bus,
    src,
    name: BigInt(`0x${value.name}`),
    activeFrom: 0,
    productCode: isCount(productCode) ? productCode : 0,
    modelId: text(modelId),
    softwareVersion: text(softwareVersion),
    modelVersion: text(modelVersion),
    modelSerial: text(modelSerial),
  }];
}

function decodeGap(value: unknown): Gap | undefined {
  if (!isFields(value) || !isCount(value.firstMissing)) return undefined;
  const { firstMissing, reason } = value;
  return reason === "restart" || reason === "disk" || reason === "source" ? { firstMissing, reason } : undefined;
}

function decodeBoot(value: unknown): BootRecord | undefined {
  if (!isFields(value) || !isHex(value.bootId, 32) || value.bootId.length !== 32) return undefined;
  const { monoMs, timeUs, clock } = value;
  if (typeof monoMs !== "number" || !isCount(timeUs)) return undefined;
  const quality = clock === "synchronized" || clock === "unsynchronized" ? clock : "unknown";
  return { bootId: Uint8Array.fromHex(value.bootId), monoMs, timeUs, clock: quality };
}

/** Decodes hex; undefined if invalid, or longer than a record. */
function decodeBytes(value: unknown): Uint8Array | undefined {
  const isBytes = isHex(value, 0xffff) && value.length % 2 === 0;
  return isBytes ? Uint8Array.fromHex(value) : undefined;
}

/** Decodes the valid parts of an opening. Does not throw. */
export function decodeOpening(opening: unknown): Opening {
  if (!isFields(opening)) return { devices: [], notes: {} };
  const devices = Array.isArray(opening.devices) ? opening.devices.flatMap(decodeDevice) : [];
  const gap = decodeGap(opening.gap);
  const boot = decodeBoot(opening.boot);
  const buses = Array.isArray(opening.buses) ? opening.buses.slice(0, MAX_BUSES).map(text) : undefined;
  const [digestBytes, countBytes] = [decodeBytes(opening.digests), decodeBytes(opening.counts)];
  const digests = digestBytes && decodeDigestNote(digestBytes);
  const counts = countBytes && decodeBusCounts(countBytes);
  const known = { ...(buses && { buses }), ...(boot && { boot }), ...(gap && { gap }) };
  return { devices, notes: { ...known, ...(digests && { digests }), ...(counts && { counts }) } };
}
