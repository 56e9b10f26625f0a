import { type Clock, systemClock } from "../../base/mod.ts";
import type { CanBus } from "../../can/mod.ts";
import { type CanFrame, MAX_MESSAGE_BYTES } from "../../frame/mod.ts";
import { BusTransmitter, type StartTimer, type TransmitCounters, type TransmitLimits } from "./bus.ts";
import { carriageOf } from "./framing.ts";
import {
  type AddressUser,
  type FrameListener,
  type OutgoingMessage,
  type Transmit,
  TransmitError,
  type TransmitOptions,
} from "../transmit.ts";

export type { StartTimer, TransmitCounters, TransmitLimits };

/** What is sent of a bus when nothing else is said; see {@linkcode TransmitLimits}. */
export const TRANSMIT_DEFAULTS: Readonly<TransmitLimits> = {
  queueMessages: 64,
  /** Twice what a full queue of the longest fast packets takes. */
  queueTimeoutMs: 10_000,
  queueTransfers: 16,
  /** A bus carries about 1800 frames a second. */
  framesPerSecond: 400,
  burstFrames: 64,
};

/** What a transmitter is made of. */
export interface TransmitterOptions extends Partial<TransmitLimits> {
  /** In the order of the bus indexes. */
  buses: readonly CanBus[];
  /** Default the machine's. */
  clock?: Clock;
  /** Default setTimeout. */
  startTimer?: StartTimer;
}

/** How one bus does, for metrics. */
export interface TransmitStatus {
  /** Name of the bus. */
  bus: string;
  counters: Readonly<TransmitCounters>;
  /** Messages that wait or are being sent now, transport sessions aside. */
  waiting: number;
  /** Transport sessions under way and waiting now. */
  transfers: number;
}

/**
 * Carries messages to the buses, in the framing that their PGN and length want: one frame, a fast packet, or an ISO
 * transport session, which runs beside the queue. Needs to hear what the buses hear: receivers answer.
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
   * @throws {TransmitError} at once `full`, `too-long` or `closed`: none is sent
   * @throws {RangeError} there is no such bus, or an empty payload for a PGN that is a fast packet
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
      if (urgent ? bus.hasRoomForUrgent(load.messages) : bus.hasRoom(load)) continue;
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

  /** Gives up what waits, and takes no more. Safe to call twice. */
  close(): void {
    this.#isClosed = true;
    for (const bus of this.#buses) bus.giveUp("closed", "the server stops");
  }

  /** What each bus is asked to take. */
  #loadsOf(messages: readonly OutgoingMessage[]): Map<BusTransmitter, Load> {
    const loads = new Map<BusTransmitter, Load>();
    for (const message of messages) {
      const { pgn, data } = message;
      const carriage = carriageOf(pgn, data.length);
      if (carriage === "fast" && data.length === 0) {
        throw new RangeError(`Cannot send PGN ${pgn} without payload: it is a fast packet`);
      }
      const bus = this.#busOf(message);
      const load = loads.get(bus) ?? { messages: 0, transfers: 0 };
      load[carriage === "transport" ? "transfers" : "messages"]++;
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
