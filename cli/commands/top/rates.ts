import type { Device } from "@vessel/gateway/client";
import { bytesText, NOTHING } from "../../client/frame_text.ts";

/** What comes in a second. */
export interface Rate {
  frames: number;
  bytes: number;
}

/** Counters of the devices at a time. */
interface Counted {
  atMs: number;
  counters: ReadonlyMap<string, Pick<Device, "packet_count" | "byte_count">>;
}

/** Rates are averages of so long. */
const WINDOW_MS = 5000;

/** Rates of devices, from their counters at different times. */
export class DeviceRates {
  readonly #counted: Counted[] = [];

  /** Takes what the counters are now; `atMs` is of a monotonic clock. */
  add(devices: readonly Device[], atMs: number): void {
    this.#counted.push({ atMs, counters: new Map(devices.map((device) => [keyOf(device), device])) });
    while ((this.#counted[1]?.atMs ?? Infinity) <= atMs - WINDOW_MS) this.#counted.shift();
  }

  /** What a device sends; undefined while that is not known: it is new, or its counters have begun again. */
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

/** Several rates together; undefined when none is known. */
export function sumOf(rates: readonly (Rate | undefined)[]): Rate | undefined {
  const known = rates.filter((rate) => rate !== undefined);
  if (known.length === 0) return undefined;
  return known.reduce((sum, { frames, bytes }) => ({ frames: sum.frames + frames, bytes: sum.bytes + bytes }));
}

/** Frames and bytes a second for people. */
export function rateTexts(rate: Rate | undefined): [frames: string, bytes: string] {
  if (rate === undefined) return [NOTHING, NOTHING];
  const { frames, bytes } = rate;
  return [frames < 10 ? frames.toFixed(1) : String(Math.round(frames)), `${bytesText(bytes)}/s`];
}

/** A device that takes another's address is another one. */
function keyOf({ bus = "", src, name = "" }: Device): string {
  return `${bus} ${src} ${name}`;
}
