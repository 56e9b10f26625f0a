import type { Device } from "@vessel/gateway/client";
import { bytesText, NOTHING } from "../../client/frame_text.ts";

/** Amounts per second. */
export interface Rate {
  frames: number;
  bytes: number;
}

/** Counters of the devices at a time. */
interface Counted {
  atMs: number;
  counters: ReadonlyMap<string, Pick<Device, "packet_count" | "byte_count">>;
}

/** Rates are averages of this time. */
const WINDOW_MS = 5000;

/** Rates of devices, from their counters at different times. */
export class DeviceRates {
  readonly #counted: Counted[] = [];

  /** Adds the current counters; `atMs` is the time of a monotonic clock. */
  add(devices: readonly Device[], atMs: number): void {
    this.#counted.push({ atMs, counters: new Map(devices.map((device) => [keyOf(device), device])) });
    while ((this.#counted[1]?.atMs ?? Infinity) <= atMs - WINDOW_MS) this.#counted.shift();
  }

  /** Rate of a device; undefined if it is new or its counters were reset. */
  of(device: Device): Rate | undefined {
    const key = keyOf(device);
    const last = this.#counted.at(-1);
    const first = this.#counted.find(({ counters }) => counters.has(key));
    const [from, to] = [first?.counters.get(key), last?.counters.get(key)];
    if (!first || !last || !from || !to || last.atMs <= first.atMs || to.packet_count < from.packet_count) {
      return undefined;
    }
    const seconds = (last.atMs - first.atMs) / 1000;
    return {
      frames: (to.packet_count - from.packet_count) / seconds,
      bytes: Math.max(0, to.byte_count - from.byte_count) / seconds,
    };
  }
}

/** Sum of rates; undefined if none is known. */
export function sumOf(rates: readonly (Rate | undefined)[]): Rate | undefined {
  const known = rates.filter((rate) => rate !== undefined);
  if (known.length === 0) return undefined;
  return known.reduce((sum, { frames, bytes }) => ({ frames: sum.frames + frames, bytes: sum.bytes + bytes }));
}

/** Texts of frames and bytes per second. */
export function rateTexts(rate: Rate | undefined): [frames: string, bytes: string] {
  if (rate === undefined) return [NOTHING, NOTHING];
  const { frames, bytes } = rate;
  return [frames < 10 ? frames.toFixed(1) : String(Math.round(frames)), `${bytesText(bytes)}/s`];
}

/** Includes the NAME: another device may take over the address. */
function keyOf({ bus = "", src, name = "" }: Device): string {
  return `${bus} ${src} ${name}`;
}
