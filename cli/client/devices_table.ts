import type { PastDevice } from "@vessel/gateway/client";
import { labelsOfPayload } from "@vessel/gateway/pgn";
import { formatItems, type ItemColumn } from "../program/table.ts";
import { bytesText, timeOfDay } from "./frame_text.ts";

/** PGN of the device class. */
const ADDRESS_CLAIM = 60928;
const NO_PAYLOAD = new Uint8Array(0);

/** A column of devices. */
interface DeviceColumn extends ItemColumn<PastDevice> {
  /** Least line width that has this column, characters. */
  fromWidth?: number;
}

const COLUMNS: readonly DeviceColumn[] = [
  { title: "SRC", align: "right", text: ({ src }) => String(src) },
  { title: "NAME", text: ({ name = "" }) => name },
  { title: "MANUFACTURER", max: 20, text: ({ manufacturer = "" }) => manufacturer },
  { title: "MODEL", max: 32, text: ({ model_id = "" }) => model_id },
  { title: "SOFTWARE", max: 16, fromWidth: 140, text: ({ software_version = "" }) => software_version },
  { title: "CLASS", fromWidth: 120, text: className },
  { title: "INST", align: "right", text: ({ device_instance }) => numberText(device_instance) },
  { title: "FRAMES", align: "right", fromWidth: 100, text: ({ packet_count }) => packet_count?.toString() ?? "?" },
  {
    title: "BYTES",
    align: "right",
    fromWidth: 110,
    text: ({ byte_count }) => byte_count === null ? "?" : bytesText(byte_count),
  },
  { title: "LAST", text: ({ last_seen }) => timeOfDay(last_seen) },
];

/** Table of devices, sorted by bus and address. Narrow terminals have fewer columns. */
export function deviceTable(devices: readonly PastDevice[], form: { width: number; color: boolean }): string {
  if (devices.length === 0) return "No devices seen yet";
  const columns = COLUMNS.filter(({ fromWidth = 0 }) => form.width >= fromWidth);
  return formatItems(inOrder(devices), { columns: withBus(devices, columns), ...form });
}

/** The columns, after one with the bus if the server has several buses. */
export function withBus<T extends { bus?: string }>(
  items: readonly T[],
  columns: readonly ItemColumn<T>[],
): ItemColumn<T>[] {
  const bus: ItemColumn<T> = { title: "BUS", max: 12, text: ({ bus = "" }) => bus };
  return items.some(({ bus }) => bus !== undefined) ? [bus, ...columns] : [...columns];
}

/** Sorts by bus, then by address. */
export function inOrder<T extends { bus?: string; src: number }>(devices: readonly T[]): T[] {
  return devices.toSorted((a, b) => compare(a.bus ?? "", b.bus ?? "") || a.src - b.src);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Name of the class of a device; empty if it is unknown. */
export function className({ device_class }: Pick<PastDevice, "device_class">): string {
  if (device_class === undefined) return "";
  return labelsOfPayload(ADDRESS_CLAIM, NO_PAYLOAD, { device_class })?.device_class?.toString() ??
    `Class ${device_class}`;
}

function numberText(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}
