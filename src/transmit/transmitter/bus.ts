import { type Clock, errorText, TokenBucket } from "../../base/mod.ts";
import {
  type CanBus,
  type TransportEnd,
  type TransportFrame,
  TransportSender,
  type TransportSession,
} from "../../can/mod.ts";
import { buildCanId, type CanFrame } from "../../frame/mod.ts";
import { type Carriage, carriageOf, FrameCutter, framesAtOnce } from "./framing.ts";
import { type OutgoingMessage, TransmitError } from "../transmit.ts";

/** Starts a timer; returns how to stop it. */
export type StartTimer = (run: () => void, delayMs: number) => () => void;

/** Limits of what is sent on one bus. */
export interface TransmitLimits {
  /** Messages that wait at most, transport sessions aside; urgent ones have as much room again. */
  queueMessages: number;
  /** How long a message or session may wait for its turn before it is given up, milliseconds: an old one is worse than none. */
  queueTimeoutMs: number;
  /** Transport sessions at most, under way and waiting. */
  queueTransfers: number;
  /** Frames a second on average; 0 is without limit. */
  framesPerSecond: number;
  /** Frames that may leave at once after a pause; at least 32, a whole fast packet. */
  burstFrames: number;
}

/** Totals of one bus. What was accepted was sent, or failed, or waits; what was refused is among the failed, too. */
export interface TransmitCounters {
  /** Messages that were taken to be sent. */
  accepted: number;
  /** Messages whose last frame the bus has taken, or whose receiver has confirmed them. */
  sent: number;
  /** Messages that were refused (`full`, `too-long`, `closed`) or failed later, by reason. */
  failed: Record<TransmitError["reason"], number>;
}

interface Entry {
  message: OutgoingMessage;
  carriage: Carriage;
  acceptedMs: number;
  /** Asked when its turn has come. */
  mayLeave: () => boolean;
  /** Called once. */
  settle: (error?: TransmitError) => void;
}

/** Something the bus is to do next. Never rejects. */
type Job = () => Promise<void>;

const MAX_FAST_PACKET_FRAMES = 32;

/**
 * What we say on one bus: one message after the other, each whole, and beside them the frames of transport sessions,
 * which take turns with them. One frame is on its way to the bus at a time.
 */
export class BusTransmitter {
  readonly counters: TransmitCounters = {
    accepted: 0,
    sent: 0,
    failed: { full: 0, "too-long": 0, bus: 0, address: 0, withdrawn: 0, aborted: 0, silent: 0, closed: 0 },
  };
  readonly #bus: CanBus;
  readonly #clock: Clock;
  readonly #limits: TransmitLimits;
  readonly #startTimer: StartTimer;
  readonly #bucket: TokenBucket;
  readonly #cutter = new FrameCutter();
  readonly #urgent: Entry[] = [];
  readonly #queue: Entry[] = [];
  readonly #sessions = new TransportSender();
  readonly #transfers = new Map<TransportSession, Entry>();
  /** All that was accepted and is not settled. */
  readonly #open = new Set<Entry>();
  #openTransfers = 0;
  #isWorking = false;
  #isTransferTurn = false;
  #stopTimer: (() => void) | undefined;

  constructor(bus: CanBus, { clock, limits, startTimer }: {
    clock: Clock;
    limits: TransmitLimits;
    startTimer: StartTimer;
  }) {
    this.#bus = bus;
    this.#clock = clock;
    this.#limits = limits;
    this.#startTimer = startTimer;
    const burst = Math.max(limits.burstFrames, MAX_FAST_PACKET_FRAMES);
    this.#bucket = new TokenBucket({ perSecond: limits.framesPerSecond, burst });
  }

  /** Name of the bus. */
  get name(): string {
    return this.#bus.name;
  }

  /** Messages that wait or are being sent, transport sessions aside. */
  get waiting(): number {
    return this.#open.size - this.#openTransfers;
  }

  /** Transport sessions under way and waiting. */
  get transfers(): number {
    return this.#openTransfers;
  }

  /** Whether so many more messages and sessions find room. */
  hasRoom({ messages, transfers }: { messages: number; transfers: number }): boolean {
    const { queueMessages, queueTransfers } = this.#limits;
    return (messages === 0 || this.waiting + messages <= queueMessages) &&
      (transfers === 0 || this.transfers + transfers <= queueTransfers);
  }

  /** Whether so many more urgent messages find room: that of their own, so that no flood of others takes it. */
  hasRoomForUrgent(messages: number): boolean {
    return this.#urgent.length + messages <= this.#limits.queueMessages;
  }

  /** Takes a message; resolves when it is out. */
  push(message: OutgoingMessage, { urgent, mayLeave }: Pick<Entry, "mayLeave"> & { urgent: boolean }): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const carriage = carriageOf(message.pgn, message.data.length);
    const settle = (error?: TransmitError) => error ? reject(error) : resolve();
    const entry: Entry = { message, carriage, acceptedMs: this.#clock.monoMs(), mayLeave, settle };
    this.counters.accepted++;
    this.#open.add(entry);
    if (carriage === "transport") this.#openTransfers++;
    (urgent ? this.#urgent : this.#queue).push(entry);
    void this.#work();
    return promise;
  }

  /** Hears any frame of the bus. */
  heard(frame: CanFrame): void {
    if (this.#transfers.size === 0) return;
    const { dueMs } = this.#sessions;
    const ended = this.#sessions.heard(frame);
    if (ended) this.#endTransfer(ended.session, ended.end);
    if (this.#sessions.dueMs < dueMs) void this.#work();
  }

  /** Gives up what is not wholly out and would come from an address that is not ours any more. */
  addressLost(src: number): void {
    const stays = ({ message }: Entry) => message.src !== src;
    for (const line of [this.#urgent, this.#queue]) line.splice(0, line.length, ...line.filter(stays));
    for (const session of [...this.#transfers.keys()]) if (session.src === src) this.#forget(session);
    for (const entry of [...this.#open]) {
      if (stays(entry)) continue;
      const why = `the address ${src} that it should come from was lost`;
      this.#settle(entry, new TransmitError("address", `Cannot send ${this.#nameOf(entry)}: ${why}`));
    }
  }

  /** Gives up all that is not out yet; `why` says it in words. */
  giveUp(reason: "bus" | "closed", why: string): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#urgent.length = 0;
    this.#queue.length = 0;
    for (const session of this.#transfers.keys()) this.#forget(session);
    for (const entry of [...this.#open]) {
      this.#settle(entry, new TransmitError(reason, `Cannot send ${this.#nameOf(entry)}: ${why}`));
    }
  }

  /** Does what there is to do now, and sets the timer for the rest. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (let job = this.#next(); job; job = this.#next()) await job();
    this.#isWorking = false;
  }

  #next(): Job | undefined {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const fault = this.#open.size > 0 ? faultOf(this.#bus) : undefined;
    if (fault !== undefined) this.giveUp("bus", fault);
    const urgent = this.#urgent.shift();
    if (urgent) return () => this.#say(urgent);
    const nowMs = this.#clock.monoMs();
    this.#dropLate(nowMs);
    const [head] = this.#queue;
    const isTransferDue = this.#sessions.dueMs <= nowMs;
    if (isTransferDue && (!head || this.#isTransferTurn)) return this.#nextOfTransfers(nowMs);
    if (head) return this.#nextOfQueue(head, nowMs);
    this.#wakeIn(this.#sessions.dueMs - nowMs);
    return undefined;
  }

  /** Gives up what has waited for too long: for its turn in the queue, or behind another session. */
  #dropLate(nowMs: number): void {
    const { queueTimeoutMs } = this.#limits;
    const isLate = ({ acceptedMs }: Entry) => nowMs - acceptedMs > queueTimeoutMs;
    const why = `it has waited for more than ${queueTimeoutMs} ms`;
    for (let [head] = this.#queue; head && isLate(head); [head] = this.#queue) {
      this.#queue.shift();
      this.#fail(head, why);
    }
    for (const [session, entry] of [...this.#transfers]) {
      if (session.hasBegun || (!isLate(entry) && entry.mayLeave())) continue;
      this.#forget(session);
      if (isLate(entry)) this.#fail(entry, why);
      else this.#withdraw(entry);
    }
  }

  #nextOfTransfers(nowMs: number): Job | undefined {
    if (!this.#mayLeave(1, nowMs)) return undefined;
    this.#isTransferTurn = false;
    const frame = this.#sessions.take(nowMs);
    return frame && (() => this.#carry(frame));
  }

  #nextOfQueue(head: Entry, nowMs: number): Job | undefined {
    if (!this.#mayLeave(framesAtOnce(head.carriage, head.message.data.length), nowMs)) return undefined;
    this.#isTransferTurn = true;
    this.#queue.shift();
    return () => this.#say(head);
  }

  /** Takes frames from the bucket, or sets the timer for when they will be there. */
  #mayLeave(frames: number, nowMs: number): boolean {
    if (this.#bucket.take(nowMs, frames)) return true;
    this.#wakeIn(this.#bucket.waitMs(frames));
    return false;
  }

  #wakeIn(delayMs: number): void {
    if (delayMs === Infinity) return;
    this.#stopTimer = this.#startTimer(() => void this.#work(), Math.max(1, Math.ceil(delayMs)));
  }

  /** Sends a message whole, or begins its session, which then runs beside the queue. */
  async #say(entry: Entry): Promise<void> {
    const { message, carriage } = entry;
    if (!entry.mayLeave()) return this.#withdraw(entry);
    try {
      if (carriage === "transport") {
        this.#transfers.set(this.#sessions.begin(message, this.#clock.monoMs()), entry);
        return;
      }
      const id = buildCanId(message);
      for (const data of this.#cutter.cut(carriage, message)) {
        if (!this.#open.has(entry)) return;
        await this.#bus.send(id, data);
      }
      this.#settle(entry);
    } catch (error) {
      this.#fail(entry, errorText(error));
    }
  }

  /** Sends a frame of a session. */
  async #carry({ session, id, data, end }: TransportFrame): Promise<void> {
    try {
      await this.#bus.send(id, data);
      if (end) this.#endTransfer(session, end);
    } catch (error) {
      const entry = this.#transfers.get(session);
      this.#forget(session);
      if (entry) this.#fail(entry, errorText(error));
    }
  }

  #endTransfer(session: TransportSession, end: TransportEnd): void {
    const entry = this.#transfers.get(session);
    this.#forget(session);
    if (!entry) return;
    if (end.type === "done") return this.#settle(entry);
    this.#settle(entry, new TransmitError(end.type, `Cannot send ${this.#nameOf(entry)}: ${end.message}`));
  }

  #forget(session: TransportSession): void {
    this.#transfers.delete(session);
    this.#sessions.remove(session);
  }

  #withdraw(entry: Entry): void {
    const why = "it is not allowed any more";
    this.#settle(entry, new TransmitError("withdrawn", `Cannot send ${this.#nameOf(entry)}: ${why}`));
  }

  #fail(entry: Entry, why: string): void {
    this.#settle(entry, new TransmitError("bus", `Cannot send ${this.#nameOf(entry)}: ${why}`));
  }

  #settle(entry: Entry, error?: TransmitError): void {
    if (!this.#open.delete(entry)) return;
    if (entry.carriage === "transport") this.#openTransfers--;
    if (error) this.counters.failed[error.reason]++;
    else this.counters.sent++;
    entry.settle(error);
  }

  #nameOf({ message }: Entry): string {
    return `PGN ${message.pgn} on bus "${this.#bus.name}"`;
  }
}

/** Why a bus can carry nothing now, in words; undefined while it can. */
export function faultOf({ state }: Pick<CanBus, "state">): string | undefined {
  switch (state.type) {
    case "up":
      return state.controller === "bus-off" ? "its controller is bus-off" : undefined;
    case "closed":
      return "it is closed";
    default:
      return `it is ${state.type}: ${state.message}`;
  }
}
