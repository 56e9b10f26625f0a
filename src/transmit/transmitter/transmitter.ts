import { type Clock, systemClock } from "../../base/mod.ts";
import { type CanBus, framingFor } from "../../can/mod.ts";
import { type CanFrame, MAX_MESSAGE_BYTES } from "../../frame/mod.ts";
import { BusTransmitter, type StartTimer, type TransmitCounters, type TransmitLimits } from "./bus.ts";
import {
  type AddressUser,
  type FrameListener,
  type OutgoingMessage,
  type Transmit,
  TransmitError,
  type TransmitOptions,
} from "../transmit.ts";

export type { StartTimer, TransmitCounters, TransmitLimits };

/** Default {@linkcode TransmitLimits}. */
export const TRANSMIT_DEFAULTS: Readonly<TransmitLimits> = {
  queueMessages: 64,
  /** Twice the time that a full queue of the longest fast packets takes. */
  queueTimeoutMs: 10_000,
  queueTransfers: 16,
  /** A bus carries about 1800 frames a second. */
  framesPerSecond: 400,
  burstFrames: 64,
};

/** Options of {@linkcode Transmitter}. */
export interface TransmitterOptions extends Partial<TransmitLimits> {
  /** In the order of the bus indexes. */
  buses: readonly CanBus[];
  /** Default the system clock. */
  clock?: Clock;
  /** Default setTimeout. */
  startTimer?: StartTimer;
}

/** Transmission state of one bus, for metrics. */
export interface TransmitStatus {
  /** Name of the bus. */
  bus: string;
  counters: Readonly<TransmitCounters>;
  /** Messages queued or being sent, without transport sessions. */
  waiting: number;
  /** Transport sessions, active and waiting. */
  transfers: number;
}

/**
 * Sends messages on the buses in the framing of their PGN and length: one frame, a fast packet, or an ISO transport
 * session, which runs in parallel with the queue. It must receive all frames of the buses, because receivers of sessions
 * answer.
 */
export class Transmitter implements Transmit, AddressUser, FrameListener {
  readonly #buses: readonly BusTransmitter[];
  #isClosed = false;

  constructor({ buses, clock = systemClock, startTimer = startTimeout, ...rest }: TransmitterOptions) {
    const limits = { ...TRANSMIT_DEFAULTS, ...rest };
    this.#buses = buses.map((bus) => new BusTransmitter(bus, { clock, limits, startTimer }));
  }

  /** In the order of the buses. */
  get status(): TransmitStatus[] {
    return this.#buses.map(({ name, counters, waiting, transfers }) => ({ bus: name, counters, waiting, transfers }));
  }

  /**
   * See {@linkcode Transmit.send}.
   *
   * @throws {TransmitError} synchronously `full`, `too-long` or `closed`: none is sent
   * @throws {RangeError} unknown bus, or an empty payload for a fast-packet PGN
   */
  send(
    messages: readonly OutgoingMessage[],
    { urgent = false, mayLeave = () => true }: TransmitOptions = {},
  ): Promise<void> {
    const loads = this.#loadsOf(messages);
    if (this.#isClosed) this.#refuse(loads, new TransmitError("closed", "Cannot send: the server stops"));
    const tooLong = messages.find(({ data }) => data.length > MAX_MESSAGE_BYTES);
    if (tooLong) {
      const { pgn, data } = tooLong;
      const message = `Cannot send ${data.length} bytes of PGN ${pgn}: a message carries up to ${MAX_MESSAGE_BYTES}`;
      this.#refuse(loads, new TransmitError("too-long", message));
    }
    for (const [bus, load] of loads) {
      if (urgent ? bus.hasUrgentCapacity(load.messages) : bus.hasCapacity(load)) continue;
      const message = `Cannot send on bus "${bus.name}": ${bus.waiting} messages and ${bus.transfers} transport ` +
        "sessions wait already";
      this.#refuse(loads, new TransmitError("full", message));
    }
    const sent = messages.map((message, index) =>
      this.#busOf(message).push(message, { urgent, mayLeave: () => mayLeave(index) })
    );
    return Promise.all(sent).then(() => {});
  }

  heard(bus: number, frame: CanFrame): void {
    this.#buses[bus]?.heard(frame);
  }

  addressLost(bus: number, src: number): void {
    this.#buses[bus]?.addressLost(src);
  }

  /** Fails all unsent messages and refuses new ones. Safe to call twice. */
  close(): void {
    this.#isClosed = true;
    for (const bus of this.#buses) bus.giveUp("closed", "the server stops");
  }

  /** Number of messages and sessions by bus. */
  #loadsOf(messages: readonly OutgoingMessage[]): Map<BusTransmitter, Load> {
    const loads = new Map<BusTransmitter, Load>();
    for (const message of messages) {
      const { pgn, data } = message;
      const framing = framingFor(pgn, data.length);
      if (framing === "fast" && data.length === 0) {
        throw new RangeError(`Cannot send PGN ${pgn} without payload: it is a fast packet`);
      }
      const bus = this.#busOf(message);
      const load = loads.get(bus) ?? { messages: 0, transfers: 0 };
      load[framing === "transport" ? "transfers" : "messages"]++;
      loads.set(bus, load);
    }
    return loads;
  }

  #refuse(loads: ReadonlyMap<BusTransmitter, Load>, error: TransmitError): never {
    for (const [{ counters }, { messages, transfers }] of loads) counters.failed[error.reason] += messages + transfers;
    throw error;
  }

  #busOf({ bus }: OutgoingMessage): BusTransmitter {
    const found = this.#buses[bus];
    if (!found) throw new RangeError(`Cannot send on bus ${bus}: there are ${this.#buses.length}`);
    return found;
  }
}

interface Load {
  messages: number;
  transfers: number;
}

function startTimeout(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}
