import type { Clock, Range } from "../../base/mod.ts";
import { CAN_ID_MASK, packBus, type StoredFrame } from "../../frame/mod.ts";
import { FrameCursor, type FrameSource, type MissingFrames } from "../../stream/mod.ts";
import type { MessageStream } from "../grpc/stream.ts";
import {
  type BoatStatus,
  type LiveFrame,
  type LiveStatus,
  type LiveUpstream,
  MAX_BATCH_FRAMES,
} from "../wire/messages.ts";
import { LivePacer, type LiveRate } from "./pacer.ts";

/** How often the boat says how far it is, on a quiet bus, too. */
export const BOAT_STATUS_EVERY_MS = 5000;
/** While the cloud's limit holds frames back, so many milliseconds' worth go out together. */
const PACE_MS = 10;
/** A frame goes out at once; those that come so soon after it go out together. A message costs as much as 30 frames. */
const TICK_MS = 20;
/** Payload bytes after which a batch is full: far from the longest message. */
const MAX_BATCH_BYTES = 1024 * 1024;

/** What a live stream tells. */
export interface LiveEvents {
  /** The cloud has spoken. */
  acknowledged(status: LiveStatus): void;
  /** So many numbered frames are out, the last of them `cursor`. */
  sent(frames: number, cursor: number): void;
  /** Frames were passed over that are not in the journal. */
  missing(range: Range): void;
  /** Frames were passed over that the journal did not give: nobody knows that they are lost. */
  unread(range: Range): void;
}

/** What live frames are sent with. */
export interface LiveSenderOptions {
  stream: MessageStream<LiveStatus, LiveUpstream>;
  source: FrameSource;
  /** Number of the first frame. */
  fromSeq: number;
  /** Frames that introduce devices; they go first. */
  devices: readonly LiveFrame[];
  /** How far the boat is. */
  boatStatus: () => BoatStatus;
  /** What the cloud takes. */
  rate: LiveRate;
  /** What it takes beside that of those up to the head that the first status tells. */
  catchUpFrames: number;
  /** Whether it takes frames together. */
  hasBatches: boolean;
  /** Whether it knows buses. */
  hasBuses: boolean;
  /** Default {@linkcode BOAT_STATUS_EVERY_MS}. */
  statusEveryMs?: number | undefined;
  clock: Clock;
  events: LiveEvents;
}

/** What is sent. */
type Phase =
  | { readonly kind: "sending" }
  /** Frames up to this number, and then no more. */
  | { readonly kind: "finishing"; readonly through: number }
  | { readonly kind: "stopped" };

/** Sends frames as they come, each once and in order, at the pace that the cloud allows. */
export class LiveSender {
  readonly #options: LiveSenderOptions;
  readonly #cursor: FrameCursor;
  readonly #pacer: LivePacer;
  #phase: Phase = { kind: "sending" };
  /** Ends a pause. */
  #goOn: (() => void) | undefined;
  /** Frames up to this one need not keep to the rate. */
  #freeThrough = 0;
  /** Since when the stream takes nothing; undefined while it does. */
  #blockedMs: number | undefined;

  constructor(options: LiveSenderOptions) {
    const { source, fromSeq, events } = options;
    this.#options = options;
    this.#pacer = new LivePacer(options.rate);
    const missing = ({ fromSeq, toSeq, mayExist = false }: MissingFrames) =>
      events[mayExist ? "unread" : "missing"]({ start: fromSeq, end: toSeq + 1 });
    this.#cursor = new FrameCursor({ source, fromSeq, missing });
  }

  /** How long the oldest frame waits for the link, milliseconds; 0: none does. */
  waitMs(nowMs: number): number {
    return this.#blockedMs === undefined ? 0 : nowMs - this.#blockedMs;
  }

  /**
   * Sends until it is to finish, or is stopped; then the stream ends in good order.
   *
   * @throws {RpcError} the stream has failed
   * @throws {FallenBehindError} frames to be sent are kept no longer
   */
  async run(): Promise<void> {
    const { boatStatus, fromSeq, catchUpFrames } = this.#options;
    const tell = (status: BoatStatus) => this.#stream.send({ kind: "status", status });
    const first = boatStatus();
    this.#freeThrough = Math.min(first.headSeq, fromSeq + catchUpFrames - 1);
    let isTelling = false;
    const timer = setInterval(() => {
      // One that waits for the link is enough; and that a stream is over, whoever sends frames is told.
      if (isTelling || this.#phase.kind !== "sending") return;
      isTelling = true;
      tell(boatStatus()).catch(() => {}).finally(() => isTelling = false);
    }, this.#options.statusEveryMs ?? BOAT_STATUS_EVERY_MS);
    try {
      await Promise.all([tell(first).then(() => this.#sendAll()), this.#listen()]);
    } finally {
      clearInterval(timer);
      this.stop();
    }
  }

  /** Sends what there is now, and then ends. It may take any time: who will not wait stops it. */
  finish(): void {
    if (this.#phase.kind !== "sending") return;
    this.#phase = { kind: "finishing", through: this.#options.source.head };
    this.#goOn?.();
    // It waits for a frame that is not to be sent any more.
    if (!this.#hasMore()) this.#cursor.close();
  }

  /** Sends no more. */
  stop(): void {
    this.#phase = { kind: "stopped" };
    this.#goOn?.();
    this.#cursor.close();
  }

  get #stream(): MessageStream<LiveStatus, LiveUpstream> {
    return this.#options.stream;
  }

  /** Whether frames are still to be read, now or when they come. */
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
      if (hasBatches && isAll && this.#phase.kind === "sending") await this.#pause(TICK_MS);
    }
    this.#stream.end();
  }

  async #listen(): Promise<void> {
    for await (const status of this.#stream) this.#options.events.acknowledged(status);
    if (this.#phase.kind === "sending") throw new Error("the cloud has ended the live stream");
  }

  async #sendPaced(frames: readonly LiveFrame[]): Promise<void> {
    const { clock, events } = this.#options;
    for (let at = 0; at < frames.length && this.#phase.kind !== "stopped";) {
      const count = this.#freeOf(frames, at) || this.#pacer.take(clock.monoMs(), frames.length - at);
      if (count === 0) {
        await this.#pause(Math.max(PACE_MS, this.#pacer.waitMs));
        continue;
      }
      const part = frames.slice(at, at += count);
      await this.#write(part);
      const cursor = part.at(-1)?.seq ?? 0;
      if (cursor > 0) events.sent(part.length, cursor);
    }
  }

  /** How many frames, from one on, need not keep to the rate. */
  #freeOf(frames: readonly LiveFrame[], from: number): number {
    let at = from;
    for (let frame = frames[at]; frame && frame.seq > 0 && frame.seq <= this.#freeThrough; frame = frames[at]) at++;
    return at - from;
  }

  async #write(frames: readonly LiveFrame[]): Promise<void> {
    this.#blockedMs = this.#options.clock.monoMs();
    try {
      if (this.#options.hasBatches && frames.length > 1) await this.#stream.send({ kind: "batch", frames });
      else for (const frame of frames) await this.#stream.send({ kind: "frame", frame });
    } finally {
      this.#blockedMs = undefined;
    }
  }

  /** The ring's memory changes while frames wait. */
  #copy({ seq, timeUs, id, bus, data, offset, length }: StoredFrame): LiveFrame {
    const canId = this.#options.hasBuses ? packBus(id, bus) : id;
    return { seq, timestampUs: timeUs, canId, data: data.slice(offset, offset + length) };
  }

  /** Waits, unless it is stopped. */
  async #pause(ms: number): Promise<void> {
    if (this.#phase.kind === "stopped") return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#goOn = resolve;
    await promise;
    clearTimeout(timer);
  }
}
