import { type DecodedValues, type SourceDevice, STALE_INTERVALS, UsualInterval } from "../../quantities/mod.ts";

/** Most devices kept for a PGN; more than a bus has. */
const MAX_DEVICES = 256;

/** A received message. */
export interface ReceivedMessage {
  readonly decoded: DecodedValues;
  /** When it came, monotonic milliseconds. */
  readonly atMs: number;
}

interface Entry extends ReceivedMessage {
  readonly interval: UsualInterval;
}

/** The newest message by PGN and device, of the PGNs that sentences need and that are no quantities. Pure. */
export class MessageTable {
  readonly #defaultIntervals: ReadonlyMap<number, number>;
  /** By PGN; of each, by device, in the order in which they were first heard. */
  readonly #entries = new Map<number, Map<string, Entry>>();
  /** Device in use, by PGN. */
  readonly #used = new Map<number, string>();

  /** @param defaultIntervals usual interval of each PGN, milliseconds */
  constructor(defaultIntervals: ReadonlyMap<number, number>) {
    this.#defaultIntervals = defaultIntervals;
  }

  /** Takes a message. */
  note(pgn: number, { device, timeMs, ...message }: ReceivedMessage & { device: SourceDevice; timeMs: number }): void {
    const byDevice = this.#entries.get(pgn) ?? new Map<string, Entry>();
    this.#entries.set(pgn, byDevice);
    const id = idOf(device);
    if (device.name !== "") this.#adopt(pgn, { byDevice, device, id });
    if (!byDevice.has(id) && byDevice.size >= MAX_DEVICES) return;
    const interval = byDevice.get(id)?.interval ?? new UsualInterval(this.#defaultIntervals.get(pgn) ?? 1000);
    interval.note(timeMs);
    byDevice.set(id, { ...message, interval });
  }

  /** A device whose NAME is known now keeps its place. */
  #adopt(
    pgn: number,
    { byDevice, device, id }: { byDevice: Map<string, Entry>; device: SourceDevice; id: string },
  ): void {
    const before = idOf({ ...device, name: "" });
    const entry = byDevice.get(before);
    if (!entry) return;
    byDevice.delete(before);
    if (!byDevice.has(id)) byDevice.set(id, entry);
    if (this.#used.get(pgn) === before) this.#used.set(pgn, id);
  }

  /** The message of one device; undefined: none, or stale. */
  of(pgn: number, { nowMs, device }: { nowMs: number; device: SourceDevice }): ReceivedMessage | undefined {
    const entry = this.#entries.get(pgn)?.get(idOf(device));
    return entry && isFresh(entry, nowMs) ? entry : undefined;
  }

  /** The newest message that is not stale, of the device used before, else of the first-heard one. */
  newest(pgn: number, nowMs: number): ReceivedMessage | undefined {
    const fresh = [...this.#entries.get(pgn) ?? []].filter(([, entry]) => isFresh(entry, nowMs));
    const used = this.#used.get(pgn);
    const chosen = fresh.find(([id]) => id === used) ?? fresh[0];
    if (chosen) this.#used.set(pgn, chosen[0]);
    return chosen?.[1];
  }
}

function isFresh({ atMs, interval }: Entry, nowMs: number): boolean {
  return nowMs - atMs <= STALE_INTERVALS * interval.ms;
}

function idOf({ name, src, bus = "" }: SourceDevice): string {
  return name === "" ? `${bus}/${src}` : name;
}
