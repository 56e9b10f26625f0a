import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import { overloaded } from "../reply.ts";
import type { Batch, SourceEvent, StreamHub, StreamKind, StreamMemory } from "../../stream/mod.ts";

/** An event of a stream other than a frame. */
export type Notice =
  | { type: "dropped"; data: SkippedFrames }
  | { type: "device"; data: DeviceEvent }
  | { type: "source"; data: SourceEvent };

/**
 * Notices for a slow client until it reads again. Bounded: one merged range per kind of drop, one event per device, and one
 * per quantity.
 */
export class Backlog {
  readonly #dropped = new Map<string, SkippedFrames>();
  readonly #devices = new Map<string, DeviceEvent>();
  readonly #sources = new Map<string, SourceEvent>();

  /** Adds a report of dropped frames. */
  dropped(dropped: SkippedFrames): void {
    const { backfill, reason } = dropped;
    const kind = backfill ? "backfill" : reason === undefined ? "slow" : "lost";
    this.#dropped.set(kind, extended(this.#dropped.get(kind), dropped));
  }

  /** Adds a report of a dropped batch; returns its number of frames. */
  missed(batch: Batch): number {
    this.dropped(batch.droppedFrom(0));
    return batch.count;
  }

  get isEmpty(): boolean {
    return this.#dropped.size === 0 && this.#devices.size === 0 && this.#sources.size === 0;
  }

  /** Adds a device event, which replaces an older one of the same address. */
  device(event: DeviceEvent): void {
    this.#devices.set(`${event.device.bus ?? ""}/${event.device.src}`, event);
  }

  /** Adds a switch of a quantity's source; two of one quantity become one. */
  source(event: SourceEvent): void {
    const before = this.#sources.get(event.quantity);
    this.#sources.set(event.quantity, before ? { ...event, from: before.from } : event);
  }

  /** Removes and returns all notices: drops by sequence number, then devices, then sources. */
  take(): Notice[] {
    if (this.isEmpty) return [];
    const notices: Notice[] = [];
    const dropped = [...this.#dropped.values()].sort((a, b) => a.from_seq - b.from_seq);
    for (const data of dropped) notices.push({ type: "dropped", data });
    for (const data of this.#devices.values()) notices.push({ type: "device", data });
    for (const data of this.#sources.values()) notices.push({ type: "source", data });
    this.#dropped.clear();
    this.#devices.clear();
    this.#sources.clear();
    return notices;
  }
}

/** Merges two reports of one kind. */
function extended(known: SkippedFrames | undefined, more: SkippedFrames): SkippedFrames {
  if (!known) return more;
  const { backfill, reason } = known;
  return {
    from_seq: Math.min(known.from_seq, more.from_seq),
    to_seq: Math.max(known.to_seq, more.to_seq),
    count: known.count === null || more.count === null ? null : known.count + more.count,
    ...(backfill && { backfill }),
    ...(reason !== undefined && reason === more.reason && { reason }),
  };
}

/** Memory of a notice besides its text. */
const NOTICE_BYTES = 64;

/** The next part of a stream: frames `from` (inclusive) to `to` (exclusive) of a batch, or a notice as JSON. */
export type Portion =
  | { kind: "frames"; batch: Batch; from: number; to: number }
  | { kind: "notice"; type: Notice["type"]; text: string };

type Entry =
  | { kind: "batch"; batch: Batch; from: number; bytes: number }
  | { kind: "notice"; notice: Notice; text: string; bytes: number };

/** Options of {@linkcode ClientQueue}. */
export interface ClientQueueOptions {
  kind: StreamKind;
  /** From this size on, new frames are dropped. */
  bufferBytes: number;
  /** Memory budget of all streams. */
  memory: StreamMemory;
}

/**
 * The ordered output queue of one client. When it is full, new frames are dropped; the report of the drop keeps its
 * position between the frames before and after.
 */
export class ClientQueue {
  readonly #options: ClientQueueOptions;
  #entries: Entry[] = [];
  /** Notices that follow the entries. */
  #notices = new Backlog();
  #bytes = 0;

  constructor(options: ClientQueueOptions) {
    this.#options = options;
  }

  /** Queued bytes; batches shared with other clients count in full. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0 && this.#notices.isEmpty;
  }

  /** Appends a batch. Returns the number of frames dropped. */
  push(batch: Batch): number {
    if (!this.#hasCapacity) return this.#notices.missed(batch);
    this.#appendNotices();
    const { kind, memory } = this.#options;
    const bytes = batch.bytesFor(kind);
    memory.hold(batch, kind);
    this.#entries.push({ kind: "batch", batch, from: 0, bytes });
    this.#bytes += bytes;
    return 0;
  }

  /** Appends a report of frames lost before they reached the queue. */
  lost(dropped: SkippedFrames): void {
    this.#notices.dropped(dropped);
  }

  /** Appends a device event. */
  device(event: DeviceEvent): void {
    this.#notices.device(event);
    if (this.#hasCapacity) this.#appendNotices();
  }

  /** Appends a switch of a quantity's source. */
  source(event: SourceEvent): void {
    this.#notices.source(event);
    if (this.#hasCapacity) this.#appendNotices();
  }

  /** Removes and returns the next portion: at most `maxFrames` frames, or one notice. */
  take(maxFrames: number): Portion | undefined {
    if (this.#entries.length === 0) this.#appendNotices();
    const entry = this.#entries[0];
    if (entry === undefined) return undefined;
    if (entry.kind === "notice") {
      this.#releaseMemory(this.#entries.shift());
      return { kind: "notice", type: entry.notice.type, text: entry.text };
    }
    const { batch, from } = entry;
    const to = Math.min(batch.count, from + maxFrames);
    entry.from = to;
    if (to === batch.count) this.#releaseMemory(this.#entries.shift());
    return { kind: "frames", batch, from, to };
  }

  /** Drops all queued frames and reports them. Returns their number. */
  shed(): number {
    const entries = this.#entries;
    const after = this.#notices.take();
    this.#entries = [];
    this.#notices = new Backlog();
    let count = 0;
    for (const entry of entries) {
      if (entry.kind === "notice") this.#addNotice(entry.notice);
      else {
        const dropped = entry.batch.droppedFrom(entry.from);
        count += dropped.count;
        this.#notices.dropped(dropped);
      }
      this.#releaseMemory(entry);
    }
    for (const notice of after) this.#addNotice(notice);
    return count;
  }

  /** Drops everything without a report, after the client has disconnected. */
  clear(): void {
    for (const entry of this.#entries) this.#releaseMemory(entry);
    this.#entries = [];
    this.#notices = new Backlog();
  }

  get #hasCapacity(): boolean {
    return this.#bytes < this.#options.bufferBytes;
  }

  #addNotice(notice: Notice): void {
    if (notice.type === "dropped") this.#notices.dropped(notice.data);
    else if (notice.type === "device") this.#notices.device(notice.data);
    else this.#notices.source(notice.data);
  }

  #appendNotices(): void {
    if (this.#notices.isEmpty) return;
    for (const notice of this.#notices.take()) {
      const text = JSON.stringify(notice.data);
      const bytes = text.length + NOTICE_BYTES;
      this.#entries.push({ kind: "notice", notice, text, bytes });
      this.#bytes += bytes;
      this.#options.memory.add(bytes);
    }
  }

  #releaseMemory(entry: Entry | undefined): void {
    if (entry === undefined) return;
    const { memory, kind } = this.#options;
    this.#bytes -= entry.bytes;
    if (entry.kind === "batch") memory.release(entry.batch, kind);
    else memory.add(-entry.bytes);
  }
}

/** Hub and limits of further streams. */
export interface StreamAdmission {
  hub: StreamHub;
  /** Limits that may change while running. */
  limits: () => { maxStreams: number; streamBufferBytes: number };
}

/**
 * Checks that one more stream may be opened.
 *
 * @returns bufferBytes: maximum bytes that may wait for its client
 * @throws {ApiError} 503: all streams or all their memory are in use
 */
export function admitStream({ hub, limits }: StreamAdmission): { bufferBytes: number } {
  const { maxStreams, streamBufferBytes } = limits();
  if (hub.openStreams >= maxStreams) {
    throw overloaded(`All ${maxStreams} streams are in use: see -max-streams`);
  }
  if (hub.memory.isFull) {
    throw overloaded("Slow stream clients use all the stream memory: see -stream-memory");
  }
  return { bufferBytes: streamBufferBytes };
}
