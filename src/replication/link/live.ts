import type { Clock, Range } from "../../base/mod.ts";
import { type ClockSpans, MAX_CLOCK_SPANS } from "../../journal/mod.ts";
import { CAN_ID_MASK, packBus, type StoredFrame } from "../../frame/mod.ts";
import { type CursorOptions, FrameCursor, type FrameSource, type MissingFrames } from "../../stream/mod.ts";
import type { BoatLiveStream } from "../grpc/stream.ts";
import { type BoatStatus, type LiveFrame, type LiveStatus, MAX_BATCH_FRAMES } from "../wire/messages.ts";
import { LivePacer, type LiveRate } from "./pacer.ts";

/** Interval of the boat's statuses, also on a quiet bus, milliseconds. */
export const BOAT_STATUS_INTERVAL_MS = 5000;
/** Minimum pause while the rate limit holds frames back, milliseconds. */
const MIN_PAUSE_MS = 10;
/**
 * After sending, further frames are collected for this time, milliseconds: a message costs as much as 30 frames, and 100
 * bytes of headers. A cloud in which nobody reads them asks for more.
 */
const COLLECT_MS = 20;
/** Whatever the cloud asks for. */
export const MAX_COLLECT_MS = 5000;
/** Frames after which a boat stops collecting, approximately: half of the usual burst, which one message may have. */
const COLLECT_FRAMES = 250;
/** Memory for copied payloads that is allocated at once. */
const COPIES_BYTES = 8192;
/** Maximum payload bytes of a batch; far below the maximum message. */
const MAX_BATCH_BYTES = 1024 * 1024;

/** Frames that a link sends live: those of a boat, or of another origin. */
export type LiveSource = FrameSource | MadeFrames;

/** Frames of another origin than a broker. */
export interface MadeFrames {
  /** Newest sequence number; the one before the first when there is none. */
  readonly head: number;
  /** Oldest sequence number that can be read. */
  readonly oldestSeq: number;
  /** A reader of the frames from a number on. */
  cursor(options: Pick<CursorOptions, "fromSeq" | "missing">): LiveCursor;
}

/** The parts of a reader that a link needs. */
export type LiveCursor = Pick<FrameCursor, "nextSeq" | "read" | "close">;

/** Events of a live stream. */
export interface LiveEvents {
  /** A status arrived. */
  acknowledged(status: LiveStatus): void;
  /** Numbered frames were sent. @param cursor sequence number of the last one */
  sent(frames: number, cursor: number): void;
  /** Frames were skipped that are not in the journal. */
  missing(range: Range): void;
  /** Frames were skipped that the journal failed to read; they may exist. */
  unread(range: Range): void;
}

/** Options of {@linkcode LiveSender}. */
export interface LiveSenderOptions {
  stream: BoatLiveStream;
  source: LiveSource;
  /** Sequence number of the first frame. */
  fromSeq: number;
  /** Frames that introduce devices, sent first. */
  devices: readonly LiveFrame[];
  /** Current progress of the boat. */
  boatStatus: () => BoatStatus;
  /** Rate limit of the cloud. */
  rate: LiveRate;
  /** Maximum frames exempt from the rate limit, of those up to the head in the first status. */
  catchUpFrames: number;
  /** The cloud has the feature `batch`. */
  hasBatches: boolean;
  /** The cloud has the feature `bus`. */
  hasBuses: boolean;
  /** Corrections of recorded times, which the cloud is sent; left out: none. */
  corrections?: Pick<ClockSpans, "all" | "version"> | undefined;
  /** Default {@linkcode BOAT_STATUS_INTERVAL_MS}. */
  statusEveryMs?: number | undefined;
  clock: Clock;
  events: LiveEvents;
}

/** What remains to be sent. */
type Phase =
  | { readonly kind: "sending" }
  /** Frames up to this sequence number. */
  | { readonly kind: "finishing"; readonly through: number }
  | { readonly kind: "stopped" };

/** Sends new frames, each once and in order, within the rate limit of the cloud. */
export class LiveSender {
  readonly #options: LiveSenderOptions;
  readonly #cursor: LiveCursor;
  readonly #pacer: LivePacer;
  #phase: Phase = { kind: "sending" };
  /** Ends the current pause. */
  #resume: (() => void) | undefined;
  /** Frames up to this sequence number are exempt from the rate limit. */
  #exemptThrough = 0;
  #collectMs = COLLECT_MS;
  /** How long the newest frames were collected, milliseconds. */
  #collectedMs = COLLECT_MS;
  /** Memory of copied payloads, and how much of it is used. */
  #copies: Uint8Array = new Uint8Array(0);
  #copied = 0;
  /** Version of the corrections that the cloud has. */
  #corrected: number | undefined;
  /** Time since which a send is pending, monotonic; undefined if none is. */
  #blockedMs: number | undefined;

  constructor(options: LiveSenderOptions) {
    const { source, fromSeq, events, corrections } = options;
    this.#options = options;
    if (corrections?.all.length === 0) this.#corrected = corrections.version;
    this.#pacer = new LivePacer(options.rate);
    const missing = ({ fromSeq, toSeq, mayExist = false }: MissingFrames) =>
      events[mayExist ? "unread" : "missing"]({ start: fromSeq, end: toSeq + 1 });
    this.#cursor = "cursor" in source
      ? source.cursor({ fromSeq, missing })
      : new FrameCursor({ source, fromSeq, missing });
  }

  /** How long the oldest frame has waited for the link, milliseconds; 0: none waits. */
  waitMs(nowMs: number): number {
    return this.#blockedMs === undefined ? 0 : nowMs - this.#blockedMs;
  }

  /**
   * Sends until {@linkcode LiveSender.finish} or {@linkcode LiveSender.stop}, then ends the stream regularly.
   *
   * @throws {RpcError} the stream has failed
   * @throws {FallenBehindError} the next frames are no longer stored
   */
  async run(): Promise<void> {
    const { boatStatus, fromSeq, catchUpFrames } = this.#options;
    const sendStatus = async (status: BoatStatus) => {
      await this.#options.stream.send({ kind: "status", status });
      await this.#sendCorrections();
    };
    const first = boatStatus();
    this.#exemptThrough = Math.min(first.headSeq, fromSeq + catchUpFrames - 1);
    let isSendingStatus = false;
    const timer = setInterval(() => {
      // One pending status is enough. Errors of the stream are reported by the sending of frames.
      if (isSendingStatus || this.#phase.kind !== "sending") return;
      isSendingStatus = true;
      sendStatus(boatStatus()).catch(() => {}).finally(() => isSendingStatus = false);
    }, this.#options.statusEveryMs ?? BOAT_STATUS_INTERVAL_MS);
    try {
      await Promise.all([sendStatus(first).then(() => this.#sendAll()), this.#listen()]);
    } finally {
      clearInterval(timer);
      this.stop();
    }
  }

  /** Sends the present frames, then ends. May take any time; {@linkcode LiveSender.stop} cuts it short. */
  finish(): void {
    if (this.#phase.kind !== "sending") return;
    this.#phase = { kind: "finishing", through: this.#options.source.head };
    this.#resume?.();
    // The cursor waits for a frame that is not to be sent.
    if (!this.#hasMore()) this.#cursor.close();
  }

  /** Stops sending. */
  stop(): void {
    this.#phase = { kind: "stopped" };
    this.#resume?.();
    this.#cursor.close();
  }

  /** True if present or future frames remain to be sent. */
  #hasMore(): boolean {
    switch (this.#phase.kind) {
      case "sending":
        return true;
      case "finishing":
        return this.#cursor.nextSeq <= this.#phase.through;
      case "stopped":
        return false;
    }
  }

  async #sendAll(): Promise<void> {
    const { devices, hasBatches, hasBuses, source } = this.#options;
    await this.#sendPaced(hasBuses ? devices : devices.map((each) => ({ ...each, canId: each.canId & CAN_ID_MASK })));
    while (this.#hasMore()) {
      const frames: LiveFrame[] = [];
      await this.#cursor.read((frame) => frames.push(this.#copy(frame)), {
        maxFrames: MAX_BATCH_FRAMES,
        maxBytes: MAX_BATCH_BYTES,
      });
      await this.#sendPaced(frames);
      const isAll = this.#cursor.nextSeq > source.head;
      if (hasBatches && isAll && this.#phase.kind === "sending") await this.#collect(frames.length);
    }
    this.#options.stream.end();
  }

  async #listen(): Promise<void> {
    for await (const status of this.#options.stream) {
      this.#collectFor(status.collectMs ?? 0);
      this.#options.events.acknowledged(status);
    }
    if (this.#phase.kind === "sending") throw new Error("the cloud ended the live stream");
  }

  async #sendCorrections(): Promise<void> {
    const { corrections, stream } = this.#options;
    if (!corrections || corrections.version === this.#corrected) return;
    this.#corrected = corrections.version;
    await stream.send({ kind: "clock", spans: corrections.all.slice(-MAX_CLOCK_SPANS) });
  }

  /** @param frames came while the last ones were collected */
  async #collect(frames: number): Promise<void> {
    const ms = this.#collectedMs * COLLECT_FRAMES / Math.max(1, frames);
    this.#collectedMs = Math.max(COLLECT_MS, Math.min(this.#collectMs, ms));
    await this.#pause(this.#collectedMs);
  }

  /** Somebody who begins to read need not wait until a longer time is over. */
  #collectFor(ms: number): void {
    const before = this.#collectMs;
    this.#collectMs = Math.min(MAX_COLLECT_MS, Math.max(COLLECT_MS, ms));
    if (this.#collectMs < before) this.#resume?.();
  }

  async #sendPaced(frames: readonly LiveFrame[]): Promise<void> {
    const { clock, events } = this.#options;
    for (let at = 0; at < frames.length && this.#phase.kind !== "stopped";) {
      const count = this.#countExempt(frames, at) || this.#pacer.take(clock.monoMs(), frames.length - at);
      if (count === 0) {
        await this.#pause(Math.max(MIN_PAUSE_MS, this.#pacer.waitMs));
        continue;
      }
      const part = frames.slice(at, at += count);
      await this.#write(part);
      const cursor = part.at(-1)?.seq ?? 0;
      if (cursor > 0) events.sent(part.length, cursor);
    }
  }

  /** Number of frames from `from` on that are exempt from the rate limit. */
  #countExempt(frames: readonly LiveFrame[], from: number): number {
    let at = from;
    for (let frame = frames[at]; frame && frame.seq > 0 && frame.seq <= this.#exemptThrough; frame = frames[at]) at++;
    return at - from;
  }

  async #write(frames: readonly LiveFrame[]): Promise<void> {
    this.#blockedMs = this.#options.clock.monoMs();
    try {
      if (this.#options.hasBatches && frames.length > 1) await this.#options.stream.send({ kind: "batch", frames });
      else for (const frame of frames) await this.#options.stream.send({ kind: "frame", frame });
    } finally {
      this.#blockedMs = undefined;
    }
  }

  /** Copies the payload: the memory of the ring is reused while frames wait. One memory for many is cheaper. */
  #copy({ seq, timeUs, id, bus, data, offset, length }: StoredFrame): LiveFrame {
    const canId = this.#options.hasBuses ? packBus(id, bus) : id;
    if (this.#copied + length > this.#copies.length) {
      this.#copies = new Uint8Array(Math.max(COPIES_BYTES, length));
      this.#copied = 0;
    }
    const [copies, at] = [this.#copies, this.#copied];
    for (let i = 0; i < length; i++) copies[at + i] = data[offset + i] ?? 0;
    return { seq, timestampUs: timeUs, canId, data: copies.subarray(at, this.#copied += length) };
  }

  /** Waits `ms`, or until resumed; not at all if stopped. */
  async #pause(ms: number): Promise<void> {
    if (this.#phase.kind === "stopped") return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#resume = resolve;
    await promise;
    clearTimeout(timer);
  }
}
