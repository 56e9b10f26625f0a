import {
  BROADCAST_ADDRESS,
  formatTimeUs,
  MAX_DEVICE_ADDRESS,
  type Message,
  NAME_BYTES,
  nameFromBytes,
  sourceOfId,
} from "../frame/mod.ts";
import { PGN, type ProductInformation, readProductInformation } from "../pgn/mod.ts";
import { checksOf } from "./checks/checks.ts";
import { type FindingEvent, Findings } from "./findings.ts";
import { type Finding, MINUTE_MS } from "./kinds.ts";
import { LoadMeter } from "./load.ts";
import { type DoctorState, Memory } from "./memory.ts";
import {
  BUS_SILENCE_MS,
  type BusLoad,
  BusModel,
  type BusReading,
  type Check,
  type Context,
  Sender,
  Stream,
  SUSPENDED_MS,
} from "./model.ts";
import { discriminatorOf, dueOf, SAMPLE_MS, ValueReader } from "./values.ts";

/** Default maximum number of (sender, PGN) that are tracked. */
export const MAX_STREAMS = 4096;
/** Most things of one PGN and sender of which values are read, such as batteries. */
const MAX_DISCRIMINATORS = 256;
/** A sender without a NAME, and one with a NAME, that was silent for so long is forgotten, milliseconds. */
const FORGET_MS = { nameless: 10 * MINUTE_MS, named: 24 * 60 * MINUTE_MS } as const;
/** Bits of a PGN in the key of a stream. */
const PGN_VALUES = 2 ** 18;
/** Bits of a data frame with a 29-bit identifier and eight bytes, with the pause after it and usual bit stuffing. */
const FULL_FRAME_BITS = 144;
/** The same without data, and for each byte. */
const FRAME_BITS = { empty: 74, perByte: 8.8 } as const;
const MAX_SINGLE_BYTES = 8;

/** States of a controller in which frames are lost. */
const BROKEN: ReadonlySet<BusReading["controller"]> = new Set(["error-passive", "bus-off", "down"]);

/** Options of a {@linkcode Doctor}. */
export interface DoctorOptions {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Returns the epoch of the newest frames, 32 hex digits; default: none. */
  epoch?: () => string | undefined;
  /** What an earlier run has learned; default: nothing. */
  state?: DoctorState | undefined;
  /** Most (sender, PGN) that are tracked, and most values; default {@linkcode MAX_STREAMS}. */
  maxStreams?: number;
}

/** A moment. */
export interface DoctorTime {
  /** Monotonic time, milliseconds. */
  monoMs: number;
  /** Wall time, microseconds since 1970. */
  timeUs: number;
}

/** Checks what is said on the buses. */
export class Doctor {
  readonly #buses: readonly BusModel[];
  readonly #streams = new Map<number, Stream>();
  readonly #maxStreams: number;
  readonly #findings: Findings;
  readonly #memory: Memory;
  readonly #load: LoadMeter;
  readonly #values: ValueReader;
  readonly #checks: readonly Check[];
  readonly #byPgn = new Map<number, Check[]>();
  readonly #context: Context & { nowMs: number; nowUs: number };
  readonly #incomplete: (bus: number, src: number, pgn: number) => void;
  #lastRoundMs: number | undefined;
  #untracked = 0;

  constructor({ buses, epoch = () => undefined, state, maxStreams = MAX_STREAMS }: DoctorOptions) {
    this.#buses = buses.map((name, index) => new BusModel(index, name));
    this.#maxStreams = maxStreams;
    this.#findings = new Findings(epoch);
    this.#memory = new Memory(state);
    this.#values = new ValueReader(maxStreams);
    const context = {
      buses: this.#buses,
      nowMs: 0,
      nowUs: 0,
      report: (report: Parameters<Findings["report"]>[0]) => this.#findings.report(report, context),
    };
    this.#context = context;
    this.#load = new LoadMeter(context);
    const { checks, incomplete } = checksOf(context, { memory: this.#memory, load: this.#load });
    this.#checks = checks;
    this.#incomplete = incomplete;
    for (const check of this.#checks) {
      for (const pgn of check.pgns ?? []) this.#byPgn.set(pgn, [...this.#byPgn.get(pgn) ?? [], check]);
    }
  }

  /** Messages that were not tracked because there were too many (sender, PGN). */
  get untracked(): number {
    return this.#untracked;
  }

  /** Findings that were dropped because there were too many. */
  get dropped(): number {
    return this.#findings.dropped;
  }

  /** Calls `listener` whenever a finding begins or ends. Returns a function that removes it. */
  listen(listener: (event: FindingEvent) => void): () => void {
    return this.#findings.listen(listener);
  }

  /**
   * Processes a message.
   *
   * @param seq its sequence number
   */
  message(message: Message, seq: number): void {
    const { id, pgn, bus: index, monoMs, length } = message;
    const bus = this.#buses[index];
    if (!bus) return;
    if (monoMs - bus.lastMs > BUS_SILENCE_MS) bus.unsettle(monoMs);
    bus.lastMs = monoMs;
    const src = sourceOfId(id);
    bus.bits += length > MAX_SINGLE_BYTES ? bitsOfPackets(length) : FRAME_BITS.empty + FRAME_BITS.perByte * length;
    if (pgn === PGN.addressClaim) this.#claim(message, { bus, src, seq });
    const stream = this.#streams.get((index * 256 + src) * PGN_VALUES + pgn) ?? this.#newStream(message, { bus, src });
    if (!stream) return;
    const { sender } = stream;
    const pauseMs = monoMs - sender.lastMs;
    if (pauseMs > sender.usualPauseMs && bus.settledFromMs < sender.lastMs) sender.notePause(pauseMs);
    if (stream.checks) {
      this.#setTime(message);
      for (const check of stream.checks) check.message?.({ message, sender, seq });
    }
    sender.lastMs = monoMs;
    sender.lastSeq = seq;
    sender.messages++;
    stream.count++;
    stream.lastMs = monoMs;
    stream.lastSeq = seq;
    if (stream.due) this.#sample(stream, { due: stream.due, message, seq });
    if (pgn === PGN.productInformation) this.#product(message, sender);
  }

  /** A message that could not be completed, from its identifier. */
  incomplete({ bus, src, pgn }: { bus: number; src: number; pgn: number }): void {
    this.#incomplete(bus, src, pgn);
  }

  /** Learns who has an address, from the device table of a recording or an earlier run. */
  learn(device: { bus: number; src: number; name: bigint; product?: ProductInformation | undefined }): void {
    const bus = this.#buses[device.bus];
    if (!bus || device.src > MAX_DEVICE_ADDRESS || device.name === 0n) return;
    const known = bus.senders[device.src];
    if (known?.name === undefined || known.name === device.name) {
      const sender = known ?? new Sender(bus, device.src, this.#context.nowMs);
      bus.senders[device.src] = sender;
      sender.name = device.name;
      sender.hasClaimed = true;
      sender.product ??= device.product;
    }
  }

  /**
   * Evaluates all checks; call it once a second, also without messages.
   *
   * @param time all messages received until then have been processed
   * @param readings what the drivers know, by index of the bus; default: nothing
   */
  round(time: DoctorTime, readings: readonly BusReading[] = []): void {
    const { monoMs } = time;
    this.#setTime(time);
    const wasSuspended = this.#lastRoundMs !== undefined && monoMs - this.#lastRoundMs > SUSPENDED_MS;
    this.#lastRoundMs = monoMs;
    for (const bus of this.#buses) {
      const reading = readings[bus.index];
      const lost = (reading?.lost ?? 0) > (bus.reading?.lost ?? 0);
      const isBroken = reading !== undefined && BROKEN.has(reading.controller);
      if (wasSuspended || lost || isBroken) bus.unsettle(monoMs);
      bus.reading = reading;
    }
    this.#load.round();
    for (const check of this.#checks) check.round?.();
    this.#memory.round(this.#context);
    this.#findings.expire(monoMs);
    this.#forgetSilent(monoMs);
  }

  /** The findings, the worst first. */
  findings(): Finding[] {
    return this.#findings.list();
  }

  /** Load of each bus. */
  loads(): BusLoad[] {
    return this.#load.list();
  }

  /** What was learned, for the next run. */
  state(): DoctorState {
    return this.#memory.state(formatTimeUs(this.#context.nowUs));
  }

  #setTime({ monoMs, timeUs }: DoctorTime): void {
    this.#context.nowMs = monoMs;
    this.#context.nowUs = timeUs;
  }

  #newStream({ pgn, monoMs }: Message, { bus, src }: { bus: BusModel; src: number }): Stream | undefined {
    if (src === BROADCAST_ADDRESS) return undefined;
    if (this.#streams.size >= this.#maxStreams) {
      this.#untracked++;
      return undefined;
    }
    const sender = bus.senders[src] ??= new Sender(bus, src, monoMs);
    const stream = new Stream(sender, pgn, { checks: this.#byPgn.get(pgn), due: dueOf(pgn) });
    sender.streams.set(pgn, stream);
    this.#streams.set((bus.index * 256 + src) * PGN_VALUES + pgn, stream);
    return stream;
  }

  /** Follows a claim: the address belongs to this NAME from now on, and is another sender if it was another's. */
  #claim(message: Message, { bus, src, seq }: { bus: BusModel; src: number; seq: number }): void {
    if (message.length !== NAME_BYTES || src === BROADCAST_ADDRESS) return;
    const name = nameFromBytes(message.data, message.offset);
    if (name === 0n) return;
    this.#setTime(message);
    const holder = bus.senders[src];
    const former = bus.byName(name);
    for (const check of this.#checks) check.claim?.({ bus, src, name, seq, holder, former });
    if (src > MAX_DEVICE_ADDRESS) {
      if (former) this.#forget(former);
      return;
    }
    if (holder?.name === name) return;
    if (holder && holder.name === undefined && !holder.hasClaimed) {
      holder.name = name;
    } else {
      if (holder) this.#forget(holder);
      bus.senders[src] = new Sender(bus, src, message.monoMs);
      bus.senders[src].name = name;
    }
    const now = bus.senders[src];
    if (now) now.hasClaimed = true;
    if (now && former) now.product ??= former.product;
    if (former && former !== holder) former.name = undefined;
  }

  /** Frees what was kept of senders that are gone for long. */
  #forgetSilent(nowMs: number): void {
    for (const bus of this.#buses) {
      for (const sender of bus.all()) {
        if (!sender.isActive(nowMs, sender.name === undefined ? FORGET_MS.nameless : FORGET_MS.named)) {
          this.#forget(sender);
        }
      }
    }
  }

  /** Removes a sender with its streams. */
  #forget(sender: Sender): void {
    this.#values.forget(sender);
    const { bus, src, streams } = sender;
    for (const pgn of streams.keys()) this.#streams.delete((bus.index * 256 + src) * PGN_VALUES + pgn);
    bus.senders[src] = undefined;
  }

  /** Decodes a message, if the last one of its kind was decoded long enough ago. */
  #sample(stream: Stream, { due, message, seq }: { due: Map<number, number>; message: Message; seq: number }): void {
    const discriminator = discriminatorOf(message);
    const dueMs = due.get(discriminator);
    if (dueMs !== undefined ? message.monoMs < dueMs : due.size >= MAX_DISCRIMINATORS) return;
    due.set(discriminator, message.monoMs + SAMPLE_MS);
    this.#setTime(message);
    for (const track of this.#values.read(stream.sender, message, seq)) {
      for (const check of this.#checks) check.value?.(track);
    }
  }

  #product({ data, offset, length }: Message, sender: Sender): void {
    const product = readProductInformation(data.subarray(offset, offset + length));
    if (!product) return;
    sender.product = product;
  }
}

/** Bits of a message in several frames: a fast packet; ISO transport has nearly as many. */
function bitsOfPackets(length: number): number {
  return FULL_FRAME_BITS * (1 + Math.ceil((length - 6) / 7));
}
