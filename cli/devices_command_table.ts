import type { Device } from "@vessel/gateway/client";
import { bytesText, timeOfDay } from "./frame_text.ts";
import { type Column, formatTable } from "./table.ts";

/** Names of device classes, NMEA 2000 appendix B.7. */
const CLASSES: Readonly<Record<number, string>> = {
  10: "System tools",
  20: "Safety systems",
  25: "Internetwork device",
  30: "Electrical distribution",
  35: "Electrical generation",
  40: "Steering and control surfaces",
  50: "Propulsion",
  60: "Navigation",
  70: "Communication",
  75: "Sensor interface",
  80: "Instrumentation",
  85: "External environment",
  90: "Internal environment",
  100: "Deck, cargo, fishing",
  110: "Human interface",
  120: "Display",
  125: "Entertainment",
};

/** A column of devices. */
interface DeviceColumn extends Column {
  text: (device: Device) => string;
  /** Shown only where a line has so many characters. */
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
  { title: "FRAMES", align: "right", fromWidth: 100, text: ({ packet_count }) => String(packet_count) },
  { title: "BYTES", align: "right", fromWidth: 110, text: ({ byte_count }) => bytesText(byte_count) },
  { title: "LAST", text: ({ last_seen }) => timeOfDay(last_seen) },
];
const BUS: DeviceColumn = { title: "BUS", max: 12, text: ({ bus = "" }) => bus };

/** The devices for people, by bus and address. Narrow lines have fewer columns. */
export function deviceTable(devices: readonly Device[], { width, color }: { width: number; color: boolean }): string {
  if (devices.length === 0) return "No device was heard yet";
  const hasBuses = devices.some(({ bus }) => bus !== undefined);
  const columns = [...(hasBuses ? [BUS] : []), ...COLUMNS].filter(({ fromWidth = 0 }) => width >= fromWidth);
  const rows = inOrder(devices).map((device) => columns.map(({ text }) => text(device)));
  return formatTable(rows, { columns, width, color });
}

/** By bus, then by address. */
export function inOrder<T extends { bus?: string; src: number }>(devices: readonly T[]): T[] {
  return devices.toSorted((a, b) => compare(a.bus ?? "", b.bus ?? "") || a.src - b.src);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function className({ device_class }: Device): string {
  if (device_class === undefined) return "";
  return CLASSES[device_class] ?? `Class ${device_class}`;
}

function numberText(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}
