import { type Clock, errorText, TokenBucket } from "../../base/mod.ts";
import {
  type CanBus,
  fastPacketFrames,
  FrameSplitter,
  framingFor,
  type MessageFraming,
  type TransportEnd,
  type TransportFrame,
  TransportSender,
  type TransportSession,
} from "../../can/mod.ts";
import { buildCanId, type CanFrame } from "../../frame/mod.ts";
import { type OutgoingMessage, TransmitError } from "../transmit.ts";

/** CAN frames of a message, for the rate limit; 0 for a session, whose frames are counted one by one. */
export function frameCount(framing: MessageFraming, length: number): number {
  switch (framing) {
    case "single":
      return 1;
    case "fast":
      return fastPacketFrames(length);
    case "transport":
      return 0;
  }
}

/** Starts a timer; returns its stop function. */
export type StartTimer = (run: () => void, delayMs: number) => () => void;

/** Limits of transmission on one bus. */
export interface TransmitLimits {
  /** Maximum queued messages without transport sessions; urgent messages have a second queue of this size. */
  queueMessages: number;
  /** Maximum wait of a message or session in the queue, milliseconds; then it fails, because old data mislead. */
  queueTimeoutMs: number;
  /** Maximum transport sessions, active and waiting. */
  queueTransfers: number;
  /** Average frame rate, frames a second; 0: no limit. */
  framesPerSecond: number;
  /** Burst size, frames; at least 32, the longest fast packet. */
  burstFrames: number;
}

/** Totals of one bus. Accepted messages are sent, failed or queued; refused messages count as failed, too. */
export interface TransmitCounters {
  /** Messages queued. */
  accepted: number;
  /** Messages whose last frame was sent, or that the receiver has confirmed. */
  sent: number;
  /** Messages refused (`full`, `too-long`, `closed`) or failed later, by reason. */
  failed: Record<TransmitError["reason"], number>;
}

interface Entry {
  message: OutgoingMessage;
  framing: MessageFraming;
  acceptedMs: number;
  /** Called when its turn has come; false withdraws it. */
  mayLeave: () => boolean;
  /** Called once. */
  settle: (error?: TransmitError) => void;
}

/** The next step of transmission. Never rejects. */
type Job = () => Promise<void>;

const MAX_FAST_PACKET_FRAMES = 32;

/**
 * Transmission on one bus: messages one after the other, alternating with frames of transport sessions. One frame is
 * written to the bus at a time.
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
  readonly #splitter = new FrameSplitter();
  readonly #urgent: Entry[] = [];
  readonly #queue: Entry[] = [];
  readonly #sessions = new TransportSender();
  readonly #transfers = new Map<TransportSession, Entry>();
  /** Accepted messages that are not settled yet. */
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

  /** Messages queued or being sent, without transport sessions. */
  get waiting(): number {
    return this.#open.size - this.#openTransfers;
  }

  /** Transport sessions, active and waiting. */
  get transfers(): number {
    return this.#openTransfers;
  }

  /** True if the queues have capacity for these messages and sessions. */
  hasCapacity({ messages, transfers }: { messages: number; transfers: number }): boolean {
    const { queueMessages, queueTransfers } = this.#limits;
    return (messages === 0 || this.waiting + messages <= queueMessages) &&
      (transfers === 0 || this.transfers + transfers <= queueTransfers);
  }

  /** True if the urgent queue has capacity. It is separate, so that other messages cannot fill it. */
  hasUrgentCapacity(messages: number): boolean {
    return this.#urgent.length + messages <= this.#limits.queueMessages;
  }

  /** Queues a message; resolves when it is sent. */
  push(message: OutgoingMessage, { urgent, mayLeave }: Pick<Entry, "mayLeave"> & { urgent: boolean }): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const framing = framingFor(message.pgn, message.data.length);
    const settle = (error?: TransmitError) => error ? reject(error) : resolve();
    const entry: Entry = { message, framing, acceptedMs: this.#clock.monoMs(), mayLeave, settle };
    this.counters.accepted++;
    this.#open.add(entry);
    if (framing === "transport") this.#openTransfers++;
    (urgent ? this.#urgent : this.#queue).push(entry);
    void this.#work();
    return promise;
  }

  /** Processes a frame received on the bus. */
  heard(frame: CanFrame): void {
    if (this.#transfers.size === 0) return;
    const { dueMs } = this.#sessions;
    const ended = this.#sessions.heard(frame);
    if (ended) this.#endTransfer(ended.session, ended.end);
    if (this.#sessions.dueMs < dueMs) void this.#work();
  }

  /** Fails the unsent messages of a lost source address. */
  addressLost(src: number): void {
    const stays = ({ message }: Entry) => message.src !== src;
    for (const line of [this.#urgent, this.#queue]) line.splice(0, line.length, ...line.filter(stays));
    for (const session of [...this.#transfers.keys()]) if (session.src === src) this.#forget(session);
    for (const entry of [...this.#open]) {
      if (stays(entry)) continue;
      const why = `its source address ${src} was lost to another device`;
      this.#settle(entry, new TransmitError("address", `Cannot send ${this.#nameOf(entry)}: ${why}`));
    }
  }

  /** Fails all unsent messages. */
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

  /** Runs all due jobs and sets the timer for the next one. */
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
    if (urgent) return () => this.#sendEntry(urgent);
    const nowMs = this.#clock.monoMs();
    this.#dropExpired(nowMs);
    const [head] = this.#queue;
    const isTransferDue = this.#sessions.dueMs <= nowMs;
    if (isTransferDue && (!head || this.#isTransferTurn)) return this.#nextOfTransfers(nowMs);
    if (head) return this.#nextOfQueue(head, nowMs);
    this.#wakeIn(this.#sessions.dueMs - nowMs);
    return undefined;
  }

  /** Fails messages and sessions that have waited for too long, and withdraws sessions that are no longer allowed. */
  #dropExpired(nowMs: number): void {
    const { queueTimeoutMs } = this.#limits;
    const isExpired = ({ acceptedMs }: Entry) => nowMs - acceptedMs > queueTimeoutMs;
    const why = `it has waited for more than ${queueTimeoutMs} ms`;
    for (let [head] = this.#queue; head && isExpired(head); [head] = this.#queue) {
      this.#queue.shift();
      this.#fail(head, why);
    }
    for (const [session, entry] of [...this.#transfers]) {
      if (session.hasBegun || (!isExpired(entry) && entry.mayLeave())) continue;
      this.#forget(session);
      if (isExpired(entry)) this.#fail(entry, why);
      else this.#withdraw(entry);
    }
  }

  #nextOfTransfers(nowMs: number): Job | undefined {
    if (!this.#takeTokens(1, nowMs)) return undefined;
    this.#isTransferTurn = false;
    const frame = this.#sessions.take(nowMs);
    return frame && (() => this.#sendTransportFrame(frame));
  }

  #nextOfQueue(head: Entry, nowMs: number): Job | undefined {
    if (!this.#takeTokens(frameCount(head.framing, head.message.data.length), nowMs)) return undefined;
    this.#isTransferTurn = true;
    this.#queue.shift();
    return () => this.#sendEntry(head);
  }

  /** Takes tokens for frames, or sets the timer for when they are available. */
  #takeTokens(frames: number, nowMs: number): boolean {
    if (this.#bucket.take(nowMs, frames)) return true;
    this.#wakeIn(this.#bucket.waitMs(frames));
    return false;
  }

  #wakeIn(delayMs: number): void {
    if (delayMs === Infinity) return;
    this.#stopTimer = this.#startTimer(() => void this.#work(), Math.max(1, Math.ceil(delayMs)));
  }

  /** Sends a message, or begins its transport session, which then runs in parallel with the queue. */
  async #sendEntry(entry: Entry): Promise<void> {
    const { message, framing } = entry;
    if (!entry.mayLeave()) return this.#withdraw(entry);
    try {
      if (framing === "transport") {
        this.#transfers.set(this.#sessions.begin(message, this.#clock.monoMs()), entry);
        return;
      }
      const id = buildCanId(message);
      for (const data of this.#splitter.split(framing, message)) {
        if (!this.#open.has(entry)) return;
        await this.#bus.send(id, data);
      }
      this.#settle(entry);
    } catch (error) {
      this.#fail(entry, errorText(error));
    }
  }

  async #sendTransportFrame({ session, id, data, end }: TransportFrame): Promise<void> {
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
    const why = "sending is no longer allowed";
    this.#settle(entry, new TransmitError("withdrawn", `Cannot send ${this.#nameOf(entry)}: ${why}`));
  }

  #fail(entry: Entry, why: string): void {
    this.#settle(entry, new TransmitError("bus", `Cannot send ${this.#nameOf(entry)}: ${why}`));
  }

  #settle(entry: Entry, error?: TransmitError): void {
    if (!this.#open.delete(entry)) return;
    if (entry.framing === "transport") this.#openTransfers--;
    if (error) this.counters.failed[error.reason]++;
    else this.counters.sent++;
    entry.settle(error);
  }

  #nameOf({ message }: Entry): string {
    return `PGN ${message.pgn} on bus "${this.#bus.name}"`;
  }
}

/** Why a bus cannot send now; undefined while it can. */
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
