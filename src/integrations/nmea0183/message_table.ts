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
  readonly device: SourceDevice;
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
    if (device.name !== "") this.#adopt(device);
    const byDevice = this.#entries.get(pgn) ?? new Map<string, Entry>();
    this.#entries.set(pgn, byDevice);
    const id = idOf(device);
    if (!byDevice.has(id) && byDevice.size >= MAX_DEVICES) return;
    const interval = byDevice.get(id)?.interval ?? new UsualInterval(this.#defaultIntervals.get(pgn) ?? 1000);
    interval.note(timeMs);
    byDevice.set(id, { ...message, device, interval });
  }

  /** A device whose NAME is known now keeps its messages, those of other PGNs too. */
  #adopt(device: SourceDevice): void {
    const [id, before] = [idOf(device), idOf({ ...device, name: "" })];
    for (const [pgn, byDevice] of this.#entries) {
      const entry = byDevice.get(before);
      if (!entry) continue;
      byDevice.delete(before);
      if (!byDevice.has(id)) byDevice.set(id, { ...entry, device });
      if (this.#used.get(pgn) === before) this.#used.set(pgn, id);
    }
  }

  /** The message of one device; undefined: none, or stale. */
  of(pgn: number, { nowMs, device }: { nowMs: number; device: SourceDevice }): ReceivedMessage | undefined {
    const entry = this.#entries.get(pgn)?.get(idOf(device));
    return entry && isFresh(entry, nowMs) ? entry : undefined;
  }

  /**
   * The device whose message of a PGN is used: the one used before, else the first-heard one, of those whose message is
   * not stale.
   *
   * @param options.partner a PGN: devices that send this one, too, are preferred
   */
  deviceOf(pgn: number, { nowMs, partner }: { nowMs: number; partner?: number | undefined }): SourceDevice | undefined {
    const fresh = [...this.#entries.get(pgn)?.values() ?? []].filter((entry) => isFresh(entry, nowMs));
    const complete = fresh.filter(({ device }) => partner !== undefined && this.of(partner, { nowMs, device }));
    const devices = (complete.length > 0 ? complete : fresh).map(({ device }) => device);
    const used = this.#used.get(pgn);
    const chosen = devices.find((device) => idOf(device) === used) ?? devices[0];
    if (chosen) this.#used.set(pgn, idOf(chosen));
    return chosen;
  }
}

function isFresh({ atMs, interval }: Entry, nowMs: number): boolean {
  return nowMs - atMs <= STALE_INTERVALS * interval.ms;
}

function idOf({ name, src, bus = "" }: SourceDevice): string {
  return name === "" ? `${bus}/${src}` : name;
}
