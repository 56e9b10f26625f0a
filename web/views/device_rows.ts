import type { Device, PastDevice } from "@vessel/gateway/client";
import { bytesText } from "./figures.ts";
import { plainText, rateText } from "./plain_text.ts";

/** A device of now or of another time, when its counters may be unknown. */
export type DeviceRow = Omit<PastDevice, "labels">;

/** Traffic of a device, for each second. */
export interface Traffic {
  messages: number;
  bytes: number;
}

/** What names a device in the URL: its NAME; while it is unknown, bus and address. */
export function deviceKey({ name, bus, src }: Pick<Device, "name" | "bus" | "src">): string {
  return name ?? (bus === undefined ? String(src) : `${bus}/${src}`);
}

/** The device that a URL names; its NAME may also be as in settings, without `0x`. */
export function findDevice<Found extends DeviceRow>(devices: readonly Found[], key: string): Found | undefined {
  const name = /^[0-9a-f]{16}$/i.test(key) ? `0x${key.toLowerCase()}` : key;
  return devices.find((device) => deviceKey(device) === name);
}

/** Maker and model, or the address of a device that has not told them. */
export function deviceTitle({ manufacturer, model_id, src }: DeviceRow): string {
  const words = [manufacturer, model_id].flatMap((text) => text === undefined || text.trim() === "" ? [] : [text]);
  return plainText(words.join(" ")) || `Device at address ${src}`;
}

/** Versions of software and hardware, and the serial number. */
export function versionsText({ software_version, model_version, model_serial }: DeviceRow): string {
  const parts = [["software", software_version], ["model", model_version], ["serial", model_serial]] as const;
  return parts.flatMap(([what, text]) => text === undefined || text === "" ? [] : [`${what} ${plainText(text)}`]).join(
    ", ",
  );
}

/** Rows in the order of bus and address. */
export function inOrder<Found extends DeviceRow>(devices: readonly Found[]): Found[] {
  return devices.toSorted((a, b) => (a.bus ?? "").localeCompare(b.bus ?? "") || a.src - b.src);
}

/** Traffic for people. */
export function trafficText(traffic: Traffic | undefined): string {
  return traffic ? `${rateText(traffic.messages)}, ${bytesText(Math.round(traffic.bytes))}/s` : "…";
}

interface Counted {
  packets: number;
  bytes: number;
  atMs: number;
  traffic: Traffic | undefined;
}

/** Works out the traffic of devices from the counters of one table and the one before. */
export class TrafficMeter {
  readonly #counted = new Map<string, Counted>();

  /** @param nowMs monotonic time at which the table arrived */
  count(devices: readonly DeviceRow[], nowMs: number): void {
    const seen = new Set<string>();
    for (const device of devices) {
      const key = addressOf(device);
      seen.add(key);
      const { packet_count: packets, byte_count: bytes } = device;
      if (packets === null || bytes === null) continue;
      const before = this.#counted.get(key);
      this.#counted.set(key, { packets, bytes, atMs: nowMs, traffic: trafficSince(before, { packets, bytes, nowMs }) });
    }
    for (const key of this.#counted.keys()) if (!seen.has(key)) this.#counted.delete(key);
  }

  /** Undefined until two tables have the device: counters begin again after a restart, too. */
  trafficOf(device: DeviceRow): Traffic | undefined {
    return this.#counted.get(addressOf(device))?.traffic;
  }
}

function trafficSince(
  before: Counted | undefined,
  now: { packets: number; bytes: number; nowMs: number },
): Traffic | undefined {
  if (!before || now.packets < before.packets || now.nowMs <= before.atMs) return undefined;
  const seconds = (now.nowMs - before.atMs) / 1000;
  return { messages: (now.packets - before.packets) / seconds, bytes: (now.bytes - before.bytes) / seconds };
}

function addressOf({ bus, src, name }: DeviceRow): string {
  return `${bus ?? ""}/${src}/${name ?? ""}`;
}

/** Times of one PGN that are averaged. */
const KEPT_TIMES = 11;

/** Measures the interval of each PGN over its last ten messages. */
export class IntervalMeter {
  readonly #times = new Map<number, number[]>();

  received(pgn: number, timeMs: number): void {
    const times = this.#times.get(pgn);
    if (!times) return void this.#times.set(pgn, [timeMs]);
    times.push(timeMs);
    if (times.length > KEPT_TIMES) times.shift();
  }

  /** Frames were not received: what was measured until now does not join what follows. */
  interrupted(): void {
    this.#times.clear();
  }

  /** Milliseconds; undefined until two messages have arrived. */
  intervalOf(pgn: number): number | undefined {
    const times = this.#times.get(pgn) ?? [];
    const [first = 0] = times;
    return times.length < 2 ? undefined : ((times.at(-1) ?? first) - first) / (times.length - 1);
  }
}
