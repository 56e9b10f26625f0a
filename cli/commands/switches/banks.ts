import { ApiError, type Client, type Device, type Filter } from "@vessel/gateway/client";
import { readHex } from "@vessel/gateway/frame";

/** PGN of the states of a bank. */
export const BANK_STATUS = 127501;
/** PGN of a command to a bank. */
export const BANK_CONTROL = 127502;
/** PGN of a command to one device. */
export const GROUP_FUNCTION = 126208;
/** Number of switches of a bank. */
export const BANK_SWITCHES = 28;
/** Highest instance of a bank. */
export const MAX_BANK = 252;
/** States by the value of their two bits; 3 is "not available", in a command "no change". */
const STATES = ["off", "on", "error"] as const;
const BITS = 2;
const NO_STATE = 3;
/** Age of the oldest recorded report that is read: banks report every 15 s, or when a switch changes. */
const LOOK_BACK_MS = 120_000;

/** State of a switch. */
export type SwitchState = typeof STATES[number];
/** States by the number of the switch, from 1. Omits switches that are not available. */
export type Switches = ReadonlyMap<number, SwitchState>;

/** A bank as reported by a device. */
export interface SwitchBank {
  instance: number;
  src: number;
  /** Set if the server has more than one bus. */
  bus?: string;
  /** Time of the report, RFC 3339. */
  ts: string;
  seq: number;
  switches: Switches;
}

/** A frame, or the last value of a device. */
interface Report {
  src: number;
  bus?: string;
  ts: string;
  seq: number;
  data: string;
}

/** Decodes a report; undefined if it names no bank. */
export function readBank({ src, bus, ts, seq, data }: Report): SwitchBank | undefined {
  const [instance, ...bytes] = readHex(data) ?? [];
  if (instance === undefined || instance > MAX_BANK) return undefined;
  const switches = new Map<number, SwitchState>();
  for (let i = 0; i < BANK_SWITCHES; i++) {
    const { byte, shift } = bitPosition(i + 1);
    const state = STATES[((bytes[byte] ?? 0xff) >> shift) & NO_STATE];
    if (state !== undefined) switches.set(i + 1, state);
  }
  return { instance, src, ...(bus !== undefined && { bus }), ts, seq, switches };
}

/** Payload of PGN 127502. Other switches stay unchanged. */
export function controlPayload(instance: number, switches: Switches): Uint8Array {
  const payload = new Uint8Array(8).fill(0xff).with(0, instance);
  for (const [number, state] of switches) {
    const { byte, shift } = bitPosition(number);
    payload[1 + byte] = ((payload[1 + byte] ?? 0) & ~(NO_STATE << shift)) | (STATES.indexOf(state) << shift);
  }
  return payload;
}

/** Payload of PGN 126208 that sets fields of PGN 127501; the first field is the instance. */
export function commandPayload(instance: number, switches: Switches): Uint8Array {
  const pairs = [...switches].flatMap(([number, state]) => [number + 1, STATES.indexOf(state)]);
  // Function 1 is a command; priority 8 means no change, the other four bits are reserved.
  return Uint8Array.of(1, ...pgnBytes(BANK_STATUS), 0xf8, 1 + switches.size, 1, instance, ...pairs);
}

/** Whether a payload of PGN 126208 is an acknowledgement that refuses a command to a bank or one of its parameters. */
export function isRefusal(data: string): boolean {
  const [kind, low, middle, high, errors = 0, , ...parameters] = readHex(data) ?? [];
  const isAbout = [low, middle, high].every((byte, i) => byte === pgnBytes(BANK_STATUS)[i]);
  return kind === 2 && isAbout && ((errors & 0xf) !== 0 || parameters.some((byte) => byte !== 0 && byte !== 0xff));
}

/** `1 on, 2 off`. */
export function switchesText(switches: Switches): string {
  return [...switches].toSorted(([a], [b]) => a - b).map(([number, state]) => `${number} ${state}`).join(", ");
}

/** The newest report of each bank of each device. */
export class SwitchBanks {
  readonly #banks = new Map<string, SwitchBank>();
  readonly #instance: number | undefined;

  /** @param instance only banks with this instance; undefined: all */
  constructor(instance?: number) {
    this.#instance = instance;
  }

  /** Adds a report. Returns the bank if the state of a switch has changed. */
  add(report: Report): SwitchBank | undefined {
    const bank = readBank(report);
    if (!bank || (this.#instance !== undefined && bank.instance !== this.#instance)) return undefined;
    const key = `${bank.bus ?? ""}/${bank.src}/${bank.instance}`;
    const known = this.#banks.get(key);
    if (known && known.ts > bank.ts) return undefined;
    this.#banks.set(key, bank);
    return known && switchesText(known.switches) === switchesText(bank.switches) ? undefined : bank;
  }

  /** Sorted by bus, address and instance. */
  list(): SwitchBank[] {
    const busOf = ({ bus = "" }: SwitchBank) => bus;
    return [...this.#banks.values()].toSorted((a, b) =>
      busOf(a) < busOf(b) ? -1 : busOf(a) > busOf(b) ? 1 : a.src - b.src || a.instance - b.instance
    );
  }

  /**
   * Adds the reports that the server has. It keeps only the last report of each device; those of a device's other banks
   * are read from its journal. False: the server has no journal, or no report.
   */
  async load(client: Client, { signal, filter = {} }: { signal: AbortSignal; filter?: Filter }): Promise<boolean> {
    const wanted = { ...filter, pgn: [BANK_STATUS] };
    let newest = "";
    for (const { values, src, bus } of await client.values(wanted, { signal })) {
      for (const value of values) {
        this.add({ ...value, src, ...(bus !== undefined && { bus }) });
        if (value.ts > newest) newest = value.ts;
      }
    }
    if (newest === "") return false;
    const from = new Date(Date.parse(newest) - LOOK_BACK_MS);
    try {
      for await (const frame of client.history({ ...wanted, from }, { signal })) this.add(frame);
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 503 || error.status === 404)) return false;
      throw error;
    }
  }
}

/** Text for a device: `[35] Garmin GPS 24xd`. */
export function deviceLabel({ src, bus }: Pick<SwitchBank, "src" | "bus">, devices: readonly Device[]): string {
  const device = devices.find((each) => each.src === src && each.bus === bus);
  return [`[${src}]`, deviceText(device)].filter((part) => part !== "").join(" ");
}

/** `Garmin GPS 24xd`; empty if unknown. */
export function deviceText(device: Pick<Device, "manufacturer" | "model_id"> | undefined): string {
  return [device?.manufacturer, device?.model_id].filter((part) => part).join(" ");
}

/** Byte after the instance, and bit offset in it, of a switch. */
function bitPosition(number: number): { byte: number; shift: number } {
  return { byte: (number - 1) >> 2, shift: ((number - 1) & 3) * BITS };
}

function pgnBytes(pgn: number): [number, number, number] {
  return [pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16];
}
