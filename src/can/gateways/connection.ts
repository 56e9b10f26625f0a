import { type Clock, timerMs } from "../../base/mod.ts";
import { FAST_PACKET_TIMEOUT_MS } from "../assembly/assembler.ts";
import type { BusCounters, BusSink } from "../bus.ts";
import {
  PieceReader,
  type RecordedItem,
  RecordedMonotonic,
  RecordingError,
  type RecordingFormat,
} from "../recordings/mod.ts";
import { BUSY, type SendOutcome, SENT } from "../send_queue.ts";
import { type Link, reasonOf } from "./link.ts";
import { Outgoing } from "./outgoing.ts";
import { GATEWAY_WRITERS, type GatewayWriter } from "./writers.ts";
import { type CanFrame, MAX_CAN_BYTES, pgnOfId } from "../../frame/mod.ts";
import { framingOf, PGN } from "../../pgn/mod.ts";
import type { BusStatus } from "../bus_status.ts";

/** Number of unreadable lines, without a readable one, after which the format counts as wrong. */
export const MAX_UNREAD = 100;
/** Bytes buffered for a slow gateway before frames wait in the send queue: some 400 frames. */
export const MAX_WAITING_BYTES: number = 16 * 1024;

/** Delay before a frame that could be the first of a fast packet, and was not continued, is sent as a single frame. */
const HELD_MS = FAST_PACKET_TIMEOUT_MS + 50;

/** Options of a {@linkcode GatewayConnection}. */
export interface ConnectionOptions {
  link: Link;
  format: RecordingFormat | undefined;
  bus: string | undefined;
  /** Silence after which the connection is given up, milliseconds; 0 never. */
  silenceMs: number;
  /** The last connection was unreadable: the format counts as right only after a readable line. */
  isDoubtful: boolean;
  delivery: Delivery;
  counters: BusCounters;
  clock: Clock;
  /** Called once, when the connection can be used. */
  onReady: () => void;
}

/** Result of a connection. */
export interface ConnectionEnd {
  type: "lost" | "unreadable";
  /** Reason, human-readable. */
  why: string;
  /** Whether anything was received from the bus. */
  hasReceived: boolean;
}

/** One connection to a gateway. */
export class GatewayConnection {
  readonly #options: ConnectionOptions;
  readonly #reader: PieceReader;
  #outgoing: Outgoing | undefined;
  #writer: GatewayWriter | undefined;
  #isReady = false;
  #hasReceived = false;
  /** Why we have ended the connection. */
  #why: string | undefined;
  #lastPieceMs: number;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #heldTimer: ReturnType<typeof setTimeout> | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #unechoed: { id: number; data: Uint8Array<ArrayBuffer> }[] = [];
  #writing: Promise<void> | undefined;
  #ignored = 0;
  #dropped = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const startTime = new Date(options.clock.wallUs() / 1000);
    this.#reader = new PieceReader({ format: options.format, startTime, isLive: true });
    this.#lastPieceMs = options.clock.monoMs();
  }

  /** Whether frames can be sent. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Reads until the connection ends. Never rejects. */
  async run(): Promise<ConnectionEnd> {
    const { link, silenceMs, delivery } = this.#options;
    delivery.begin();
    if (silenceMs > 0) this.#watchSilence(silenceMs);
    let end: ConnectionEnd["type"] = "lost";
    let why = "the gateway closed the connection";
    try {
      this.#findFormat();
      for (let piece = await link.read(); piece; piece = await link.read()) this.#take(piece);
    } catch (error) {
      if (error instanceof RecordingError) end = "unreadable";
      why = reasonOf(error);
    }
    clearTimeout(this.#watch);
    clearTimeout(this.#heldTimer);
    link.close();
    // A truncated line may look complete.
    if (this.#reader.summary.format) this.#count([...this.#reader.end()].length);
    await this.#writing;
    this.#options.counters.sendFailed += this.#unechoed.length;
    return { type: end, why: this.#why ?? why, hasReceived: this.#hasReceived };
  }

  /** Ends the connection from our side. */
  end(why: string): void {
    this.#why ??= why;
    this.#options.link.close();
  }

  /** Queues a frame for sending, if the format allows it and the buffer has capacity. */
  offer(id: number, data: Uint8Array): SendOutcome {
    const { format } = this.#reader.summary;
    if (!format) return { type: "failed", message: "the gateway's format is not detected yet" };
    if (!this.#isReady) return { type: "failed", message: "no readable data from the gateway yet" };
    if (!this.#outgoing) return { type: "failed", message: `nothing can be sent in the format "${format}"` };
    if (this.#waitingBytes >= MAX_WAITING_BYTES) return BUSY;
    try {
      const made = this.#outgoing.push(id, data);
      for (const bytes of made) this.#write(bytes);
      clearTimeout(this.#heldTimer);
      if (made.length === 0) this.#heldTimer = setTimeout(() => this.#writeHeld(), HELD_MS);
    } catch (error) {
      return { type: "failed", message: reasonOf(error) };
    }
    this.#unechoed.push({ id, data: data.slice() });
    this.#writing ??= this.#flush();
    return SENT;
  }

  #take(piece: Uint8Array): void {
    const { link, delivery, bus } = this.#options;
    this.#lastPieceMs = this.#options.clock.monoMs();
    const items = [...this.#reader.push(piece)];
    this.#findFormat();
    const { summary } = this.#reader;
    if (link.isDatagram && summary.format) items.push(...this.#reader.end());
    const ours = items.filter((item) => this.#isOurs(item, bus));
    this.#count(items.length - ours.length);
    if (ours.length > 0) {
      this.#hasReceived = true;
      this.#ready();
      delivery.piece(ours);
    } else if (!this.#hasReceived && summary.bad >= MAX_UNREAD) {
      const first = summary.firstBad[0]?.text ?? "";
      throw new RecordingError(`the received data cannot be read as ${summary.format}: "${first}"`);
    }
  }

  #isOurs(item: RecordedItem, bus: string | undefined): boolean {
    return bus === undefined ? item.bus === 0 : this.#reader.summary.buses[item.bus] === bus;
  }

  /** Counts what was not delivered: unreadable lines, frames other than NMEA 2000, and frames of another bus. */
  #count(others: number): void {
    const { counters, link } = this.#options;
    const { bad, passedOver } = this.#reader.summary;
    const ignored = bad + passedOver.foreign_frame;
    counters.ignored += ignored - this.#ignored + others;
    this.#ignored = ignored;
    counters.interfaceDropped += link.dropped - this.#dropped;
    this.#dropped = link.dropped;
  }

  /** Enables sending as soon as the format is known. */
  #findFormat(): void {
    const { format } = this.#reader.summary;
    if (!format || this.#writer) return;
    this.#writer = GATEWAY_WRITERS[format];
    if (this.#writer) {
      this.#outgoing = new Outgoing(this.#writer, this.#options.clock);
      if (this.#writer.hello) this.#write(this.#writer.hello);
      this.#writing ??= this.#flush();
    }
    if (!this.#options.isDoubtful) this.#ready();
  }

  #ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#options.onReady();
  }

  #write(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  /** Sends a frame that proved not to be the first of a fast packet. */
  #writeHeld(): void {
    for (const bytes of this.#outgoing?.flushHeld() ?? []) this.#write(bytes);
    this.#writing ??= this.#flush();
  }

  /** Writes the buffer, and then echoes the sent frames where the gateway does not. Never rejects. */
  async #flush(): Promise<void> {
    const { link, delivery } = this.#options;
    try {
      // Frames of one turn are sent in one write, and the echo comes after the sender's promise resolves.
      await Promise.resolve();
      while (this.#unechoed.length > 0 || this.#waiting.length > 0) {
        const { length } = this.#unechoed;
        const pieces = this.#waiting.splice(0);
        for (const bytes of link.isDatagram ? pieces : joined(pieces)) {
          await link.write(bytes);
          this.#waitingBytes -= bytes.length;
        }
        const sent = this.#unechoed.splice(0, length);
        if (!this.#writer?.echoes && this.#why === undefined) delivery.echo(sent);
      }
    } catch (error) {
      this.end(`nothing can be sent any more: ${reasonOf(error)}`);
    } finally {
      this.#writing = undefined;
    }
  }

  #watchSilence(silenceMs: number): void {
    const leftMs = this.#lastPieceMs + silenceMs - this.#options.clock.monoMs();
    if (leftMs <= 0) return this.end(`nothing received for ${silenceMs / 1000} s`);
    this.#watch = setTimeout(() => this.#watchSilence(silenceMs), timerMs(leftMs));
  }
}

/** Joins all pieces to one. */
function joined(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  if (pieces.length < 2) return pieces;
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return [all];
}

/**
 * Delivers frames and messages of a gateway to a sink. The last item of a piece gets the arrival time of the piece; those
 * before it lie back by the gateway's clock, but not before the previous piece. So a wrong or missing clock of the gateway
 * shifts no times, and a late read shifts the times within a piece no more than necessary.
 */
export class Delivery {
  readonly #clock: Clock;
  readonly #counters: BusCounters;
  readonly #status: BusStatus;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  #sink: BusSink | undefined;
  #recorded = new RecordedMonotonic();
  #lastMonoMs = -Infinity;

  constructor({ clock, counters, status }: { clock: Clock; counters: BusCounters; status: BusStatus }) {
    this.#clock = clock;
    this.#counters = counters;
    this.#status = status;
  }

  /** Sets the sink, or none. */
  attach(sink: BusSink | undefined): void {
    this.#sink = sink;
  }

  /** Starts a new connection, whose clock is independent of the last one's. */
  begin(): void {
    this.#recorded = new RecordedMonotonic();
    this.#lastMonoMs = this.#clock.monoMs();
  }

  /** Delivers the items of one piece. */
  piece(items: readonly RecordedItem[]): void {
    const recordedMs = items.map(({ timeUs }) => this.#recorded.at(timeUs));
    const latestMs = recordedMs.at(-1) ?? 0;
    const nowMs = this.#clock.monoMs();
    this.#each(items, (index) => nowMs - (latestMs - (recordedMs[index] ?? latestMs)));
  }

  /** Delivers one item that was due at `monoMs`. */
  due(item: RecordedItem, monoMs: number): void {
    this.#each([item], () => monoMs);
  }

  /** Delivers our own sent frames, for gateways that do not echo them. */
  echo(frames: readonly { id: number; data: Uint8Array<ArrayBuffer> }[]): void {
    const nowMs = this.#clock.monoMs();
    this.#each(frames.map(({ id, data }) => ({ kind: "frame", bus: 0, id, data, timeUs: 0 })), () => nowMs);
  }

  #each(items: readonly RecordedItem[], monoMsOf: (index: number) => number): void {
    const [nowMs, nowUs] = [this.#clock.monoMs(), this.#clock.wallUs()];
    let hasThrown = false;
    for (const [index, item] of items.entries()) {
      if (!this.#sink) return;
      const monoMs = Math.min(nowMs, Math.max(this.#lastMonoMs, monoMsOf(index)));
      this.#lastMonoMs = monoMs;
      const frame = this.#frame;
      frame.id = item.id;
      frame.monoMs = monoMs;
      frame.timeUs = nowUs - Math.round((nowMs - monoMs) * 1000);
      frame.data = item.data;
      frame.length = item.data.length;
      try {
        this.#deliver(this.#sink, { frame, isFrame: item.kind === "frame" || isOneFrame(item) });
      } catch (error) {
        hasThrown = true;
        this.#status.failed(error);
      }
    }
    if (hasThrown && this.#status.state.type === "down") this.#status.up();
  }

  #deliver(sink: BusSink, { frame, isFrame }: { frame: CanFrame; isFrame: boolean }): void {
    if (!isFrame && !sink.message) {
      this.#counters.ignored++;
      return;
    }
    this.#counters.received++;
    if (isFrame) sink.frame(frame);
    else sink.message?.(frame);
  }
}

/** Whether a message has the same content as its CAN frame, so that it can be delivered as a frame. */
function isOneFrame({ id, data }: RecordedItem): boolean {
  const pgn = pgnOfId(id);
  if (data.length > MAX_CAN_BYTES || framingOf(pgn) !== "single") return false;
  return pgn !== PGN.transportControl && pgn !== PGN.transportData;
}
