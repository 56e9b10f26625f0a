import { formatName, MAX_DEVICE_ADDRESS, type Message, parseName } from "../frame/mod.ts";
import { manufacturerName, type ProductInformation } from "../pgn/mod.ts";
import type { QuantityRow, QuantityValue } from "../quantities/mod.ts";
import type { FindingKind, Severity } from "./kinds.ts";

/** A pause of this length on the whole bus begins a new time of grace, milliseconds. */
export const BUS_SILENCE_MS = 5000;
/** Rounds further apart than this mean that the process was suspended, milliseconds. */
export const SUSPENDED_MS = 5000;
/** Addresses of a bus. */
const ADDRESSES = 256;

/** Error frames of a CAN controller by kind, since the bus was opened. */
export interface ErrorFrameCounts {
  /** No other node acknowledged a frame. */
  no_acknowledge: number;
  /** Bit, stuff, form and CRC errors, reported by the controller. */
  bus_error: number;
  /** The controller's buffer was full. */
  overflow: number;
  /** Others, such as transceiver errors. */
  other: number;
}

/** What the driver of a bus knows, now. */
export interface BusReading {
  /** `unknown` for gateways and recordings. */
  controller: "error-active" | "error-warning" | "error-passive" | "bus-off" | "down" | "unknown";
  /** Frames that this machine has lost. */
  lost: number;
  /** Undefined: the driver has no error frames. */
  errors: Readonly<ErrorFrameCounts> | undefined;
}

/** Load of a bus, percent of its 250 kbit/s. */
export interface BusLoad {
  /** Its name. */
  bus: string;
  /** Of the last ten seconds. */
  load_percent: number;
  /** Busiest second since the start. */
  peak_percent: number;
  /** When that was, RFC 3339; left out before the first frame. */
  peak_at?: string;
}

/** What a check says about a device or bus. */
export interface Report {
  kind: FindingKind;
  bus: BusModel;
  /** Left out: the bus as a whole. */
  sender?: Sender | undefined;
  /** Instead of a sender: a device that is not there. */
  absent?: { name: bigint; src: number };
  pgn?: number;
  /** Distinguishes several findings of a kind about one device. */
  detail?: string;
  text: string;
  /** Default 0.9. */
  confidence?: number;
  /** Default that of the kind. */
  severity?: Severity;
  /** Default that of the kind. */
  advice?: string;
  /** Numbers of the newest frames that show it. */
  seqs?: readonly number[];
}

/** A sample of a value. */
export interface Sample {
  readonly value: QuantityValue;
  readonly atMs: number;
  readonly seq: number;
}

/** The values of one quantity from one sender. */
export interface Track {
  readonly sender: Sender;
  readonly key: string;
  readonly row: QuantityRow;
  /** Newest last; never empty. */
  readonly samples: Sample[];
  /** When the value changed last. */
  changedMs: number;
  /** Number of samples since the start. */
  count: number;
}

/** A check: a rule that is broken. Its methods are called with everything that it asks for. */
export interface Check {
  /** PGNs of which it gets every message. */
  readonly pgns?: readonly number[];
  /** A message of these PGNs, before the sender is changed by it. */
  message?(received: Received): void;
  /** An address claim, before the model follows it. */
  claim?(claim: ClaimEvent): void;
  /** A decoded value of a quantity. */
  value?(track: Track): void;
  /** Called once a second. */
  round?(): void;
}

/** A message with its sender. */
export interface Received {
  readonly message: Message;
  readonly sender: Sender;
  readonly seq: number;
}

/** An address claim. */
export interface ClaimEvent {
  readonly bus: BusModel;
  readonly src: number;
  readonly name: bigint;
  readonly seq: number;
  /** Who had the address before; undefined: nobody was heard there. */
  readonly holder: Sender | undefined;
  /** Where the NAME was before; undefined: nowhere. */
  readonly former: Sender | undefined;
}

/** What checks share. */
export interface Context {
  readonly buses: readonly BusModel[];
  /** Time of the message or round that is being processed. */
  readonly nowMs: number;
  readonly nowUs: number;
  report(report: Report): void;
}

/** A device, or an address that sends. Another NAME at an address is another sender. */
export class Sender {
  readonly bus: BusModel;
  readonly src: number;
  name: bigint | undefined;
  /** Whether it has ever claimed the address. */
  hasClaimed = false;
  product: ProductInformation | undefined;
  readonly firstMs: number;
  lastMs: number;
  lastSeq = 0;
  messages = 0;
  /** Second-longest pause between two messages while the bus was alive: what has happened once is not usual. */
  usualPauseMs = 0;
  #longestPauseMs = 0;
  readonly streams = new Map<number, Stream>();
  /** Values by key of the quantity. */
  readonly tracks = new Map<string, Track>();

  constructor(bus: BusModel, src: number, nowMs: number) {
    this.bus = bus;
    this.src = src;
    this.firstMs = nowMs;
    this.lastMs = nowMs;
  }

  /** Name for people: model and address. */
  get label(): string {
    const { name, product, src } = this;
    if (product && product.modelId !== "") return `${product.modelId} (address ${src})`;
    const maker = name === undefined ? undefined : manufacturerName(parseName(name).manufacturerCode);
    return maker === undefined ? `the device at address ${src}` : `the device of ${maker} (address ${src})`;
  }

  /** Learns from a pause that was longer than usual. */
  notePause(ms: number): void {
    this.usualPauseMs = Math.min(ms, this.#longestPauseMs);
    this.#longestPauseMs = Math.max(ms, this.#longestPauseMs);
  }

  /** Whether it has sent within a time. */
  isActive(nowMs: number, withinMs: number): boolean {
    return nowMs - this.lastMs <= withinMs;
  }

  /** Whether it may have an address of its own. */
  get hasAddress(): boolean {
    return this.src <= MAX_DEVICE_ADDRESS;
  }
}

/** Messages of one PGN from one sender. */
export class Stream {
  readonly sender: Sender;
  readonly pgn: number;
  /** Checks that get every message. */
  readonly checks: readonly Check[] | undefined;
  /** When a value is decoded next, by {@linkcode discriminatorOf}; undefined: it has no values. */
  readonly due: Map<number, number> | undefined;
  count = 0;
  lastMs = 0;
  lastSeq = 0;

  constructor(sender: Sender, pgn: number, { checks, due }: {
    checks: readonly Check[] | undefined;
    due: Map<number, number> | undefined;
  }) {
    this.sender = sender;
    this.pgn = pgn;
    this.checks = checks;
    this.due = due;
  }
}

/** A bus. */
export class BusModel {
  readonly index: number;
  readonly name: string;
  readonly senders: (Sender | undefined)[] = Array.from({ length: ADDRESSES }, () => undefined);
  /** Bits since the last second. */
  bits = 0;
  lastMs = -Infinity;
  /** Since when there were frames without a pause, and nothing was lost. */
  settledFromMs = Infinity;
  /** Reading of the driver at the last round. */
  reading: BusReading | undefined;

  constructor(index: number, name: string) {
    this.index = index;
    this.name = name;
  }

  /** Whether the bus has been alive, without a pause and without loss, for a time. */
  isSettled(nowMs: number, forMs: number): boolean {
    return nowMs - this.settledFromMs >= forMs && nowMs - this.lastMs <= BUS_SILENCE_MS;
  }

  /** Starts the time of grace. */
  unsettle(nowMs: number): void {
    this.settledFromMs = nowMs;
  }

  /** The device with a NAME; undefined: it is not on this bus. */
  byName(name: bigint): Sender | undefined {
    return this.senders.find((sender) => sender?.name === name);
  }

  /** All senders from which a message was received. */
  *all(): IterableIterator<Sender> {
    for (const sender of this.senders) if (sender) yield sender;
  }
}

/** NAME for people. */
export function nameText(name: bigint | undefined): string {
  return name === undefined ? "without a NAME" : formatName(name);
}
