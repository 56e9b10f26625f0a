import { formatName, formatTimeUs } from "../frame/mod.ts";
import type { BusModel, Context, Sender } from "./model.ts";

/** Value of `version` in the state. */
const VERSION = 1;
/** Devices that are remembered at most; the one that was not seen for longest is forgotten. */
export const MAX_DEVICES = 256;
/** A device that was not seen for longer is forgotten, microseconds: 40 days. */
const FORGET_US = 40 * 86_400e6;
/** A device is present while it has sent within this time, milliseconds. */
const PRESENT_MS = 30_000;
/** Interval of noting presence, milliseconds. */
const NOTE_MS = 10_000;

/** Usual rate of a PGN of a device. */
export interface Habit {
  /** Lowest and highest rate of usual times, messages a second. */
  low: number;
  high: number;
  /** Windows that were measured. */
  windows: number;
}

/** A device that is or was on a bus. */
export interface KnownDevice {
  bus: string;
  /** NAME, `0x` and 16 hex digits. */
  name: string;
  src: number;
  /** Product information; empty while unknown. */
  model: string;
  software: string;
  serial: string;
  /** When it was last there, microseconds since 1970. */
  seenUs: number;
  /** Seconds that it was there, while its bus was alive. */
  presentS: number;
  /** Seconds that its bus was alive since it was first seen. */
  watchedS: number;
  /** The last change of its product information. */
  change?: { atUs: number; what: "software" | "product"; from: string };
  habits: Map<number, Habit>;
}

/** What was learned, as JSON. */
export interface DoctorState {
  version: number;
  saved_at: string;
  devices: (Omit<KnownDevice, "habits"> & { habits: Record<string, [low: number, high: number, windows: number]> })[];
}

/** What the doctor remembers of devices: who they are, how often they are there, and how often they send. */
export class Memory {
  readonly #devices = new Map<string, KnownDevice>();
  #notedMs: number | undefined;

  constructor(state?: DoctorState) {
    for (const { habits, ...device } of state?.devices ?? []) {
      const entries = Object.entries(habits).map(([pgn, [low, high, windows]]): [number, Habit] => {
        return [Number(pgn), { low, high, windows }];
      });
      this.#devices.set(keyOf(device.bus, device.name), { ...device, habits: new Map(entries) });
    }
  }

  /** Devices of a bus. */
  *devicesOf({ name }: BusModel): IterableIterator<KnownDevice> {
    for (const device of this.#devices.values()) if (device.bus === name) yield device;
  }

  /** A device with a NAME; it is remembered from now on. */
  of(sender: Sender, nowUs: number): KnownDevice | undefined {
    if (sender.name === undefined) return undefined;
    const name = formatName(sender.name);
    const key = keyOf(sender.bus.name, name);
    let device = this.#devices.get(key);
    if (!device) {
      if (this.#devices.size >= MAX_DEVICES) this.#forgetOldest();
      device = { ...EMPTY, bus: sender.bus.name, name, src: sender.src, seenUs: nowUs, habits: new Map() };
      this.#devices.set(key, device);
    }
    return device;
  }

  /** Notes who is there. */
  round({ buses, nowMs, nowUs }: Context): void {
    const elapsedMs = nowMs - (this.#notedMs ?? nowMs);
    if (this.#notedMs !== undefined && elapsedMs < NOTE_MS) return;
    this.#notedMs = nowMs;
    for (const bus of buses) {
      if (!bus.isSettled(nowMs, NOTE_MS)) continue;
      for (const device of this.devicesOf(bus)) device.watchedS += elapsedMs / 1000;
      for (const sender of bus.all()) {
        const device = sender.isActive(nowMs, Math.max(PRESENT_MS, sender.usualPauseMs)) && this.of(sender, nowUs);
        if (!device) continue;
        device.src = sender.src;
        device.seenUs = nowUs;
        device.presentS += elapsedMs / 1000;
      }
    }
    for (const [key, { seenUs }] of this.#devices) if (nowUs - seenUs > FORGET_US) this.#devices.delete(key);
  }

  /** All of it. */
  state(saved_at: string): DoctorState {
    const devices = [...this.#devices.values()].map(({ habits, ...device }) => ({
      ...device,
      habits: Object.fromEntries(
        [...habits].map(([pgn, { low, high, windows }]) => [pgn, [low, high, windows] as const]),
      ),
    }));
    return { version: VERSION, saved_at, devices: devices.map(rounded) };
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#devices].sort(([, a], [, b]) => a.seenUs - b.seenUs);
    if (oldest) this.#devices.delete(oldest[0]);
  }
}

const EMPTY = { model: "", software: "", serial: "", presentS: 0, watchedS: 0 } as const;

function keyOf(bus: string, name: string): string {
  return `${bus}/${name}`;
}

function rounded(device: Omit<KnownDevice, "habits"> & { habits: Record<string, readonly [number, number, number]> }) {
  const habits = Object.entries(device.habits).map(([pgn, [low, high, windows]]) => {
    return [pgn, [round3(low), round3(high), windows]] as const;
  });
  return {
    ...device,
    presentS: Math.round(device.presentS),
    watchedS: Math.round(device.watchedS),
    habits: Object.fromEntries(habits.map(([pgn, [a, b, c]]): [string, [number, number, number]] => [pgn, [a, b, c]])),
  };
}

function round3(value: number): number {
  return Number(value.toPrecision(4));
}

/**
 * Parses a state; invalid devices are left out.
 *
 * @throws {SyntaxError} it is not JSON
 * @throws {TypeError} it is not a state of this version
 */
export function parseDoctorState(text: string): DoctorState {
  const value: unknown = JSON.parse(text);
  const { version, saved_at, devices } = record(value);
  if (version !== VERSION || !Array.isArray(devices)) throw new TypeError(`no state of version ${VERSION}`);
  return {
    version,
    saved_at: typeof saved_at === "string" ? saved_at : formatTimeUs(0),
    devices: devices.slice(0, MAX_DEVICES).map(readDevice).filter((device) => device !== undefined),
  };
}

function readDevice(value: unknown): DoctorState["devices"][number] | undefined {
  const { bus, name, src, model, software, serial, seenUs, presentS, watchedS, change, habits } = record(value);
  const texts = [bus, name, model, software, serial];
  const numbers = [src, seenUs, presentS, watchedS];
  if (!texts.every((each) => typeof each === "string")) return undefined;
  if (!numbers.every((each) => typeof each === "number" && Number.isFinite(each))) return undefined;
  const { atUs, what, from } = record(change);
  const hasChange = typeof atUs === "number" && (what === "software" || what === "product") && typeof from === "string";
  return {
    ...{ bus: String(bus), name: String(name), src: Number(src) },
    ...{ model: String(model), software: String(software), serial: String(serial) },
    ...{ seenUs: Number(seenUs), presentS: Number(presentS), watchedS: Number(watchedS) },
    ...(hasChange && { change: { atUs, what, from } }),
    habits: Object.fromEntries(
      Object.entries(record(habits)).flatMap(([pgn, habit]) => {
        const [low, high, windows] = Array.isArray(habit) ? habit.map(Number) : [];
        const isValid = low !== undefined && high !== undefined && windows !== undefined && low > 0 && high >= low;
        return isValid ? [[pgn, [low, high, windows] as [number, number, number]]] : [];
      }),
    ),
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
