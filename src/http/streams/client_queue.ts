import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import { Backlog, type Notice } from "./backlog.ts";
import type { Batch, StreamKind, StreamMemory } from "../../stream/mod.ts";

/** What a notice takes beside its text. */
const NOTICE_BYTES = 64;

/** The next part of a stream: frames `from` (inclusive) to `to` (exclusive) of a batch, or a notice as JSON. */
export type Portion =
  | { kind: "frames"; batch: Batch; from: number; to: number }
  | { kind: "notice"; type: Notice["type"]; text: string };

type Entry =
  | { kind: "batch"; batch: Batch; from: number; bytes: number }
  | { kind: "notice"; notice: Notice; text: string; bytes: number };

/** How a queue is made. */
export interface ClientQueueOptions {
  kind: StreamKind;
  /** A queue of so many bytes takes no more frames. */
  bufferBytes: number;
  /** The budget that it is counted in. */
  memory: StreamMemory;
}

/**
 * What waits for one client, in order. Frames for which there is no room are reported as dropped, after the frames
 * before them and before those after them.
 */
export class ClientQueue {
  readonly #options: ClientQueueOptions;
  #entries: Entry[] = [];
  /** Comes after the entries. */
  #late = new Backlog();
  #bytes = 0;

  constructor(options: ClientQueueOptions) {
    this.#options = options;
  }

  /** Bytes that wait; those shared with other clients count in full. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0 && this.#late.isEmpty;
  }

  /** Appends a batch. Returns how many frames were dropped instead. */
  push(batch: Batch): number {
    if (!this.#hasRoom) return this.#late.missed(batch);
    this.#appendLate();
    const { kind, memory } = this.#options;
    const bytes = batch.bytesFor(kind);
    memory.hold(batch, kind);
    this.#entries.push({ kind: "batch", batch, from: 0, bytes });
    this.#bytes += bytes;
    return 0;
  }

  /** Appends a report of frames that were lost before they came here. */
  lost(dropped: SkippedFrames): void {
    this.#late.dropped(dropped);
  }

  /** Appends a change of a device. */
  device(event: DeviceEvent): void {
    this.#late.device(event);
    if (this.#hasRoom) this.#appendLate();
  }

  /** Takes what comes next: at most so many frames, or one notice. */
  take(maxFrames: number): Portion | undefined {
    if (this.#entries.length === 0) this.#appendLate();
    const entry = this.#entries[0];
    if (entry === undefined) return undefined;
    if (entry.kind === "notice") {
      this.#leave(this.#entries.shift());
      return { kind: "notice", type: entry.notice.type, text: entry.text };
    }
    const { batch, from } = entry;
    const to = Math.min(batch.count, from + maxFrames);
    entry.from = to;
    if (to === batch.count) this.#leave(this.#entries.shift());
    return { kind: "frames", batch, from, to };
  }

  /** Drops all frames that wait, and reports them. Returns how many there were. */
  shed(): number {
    const entries = this.#entries;
    const after = this.#late.take();
    this.#entries = [];
    this.#late = new Backlog();
    let count = 0;
    for (const entry of entries) {
      if (entry.kind === "notice") this.#note(entry.notice);
      else {
        const dropped = entry.batch.droppedFrom(entry.from);
        count += dropped.count;
        this.#late.dropped(dropped);
      }
      this.#leave(entry);
    }
    for (const notice of after) this.#note(notice);
    return count;
  }

  /** Drops everything without a report: the client has gone. */
  clear(): void {
    for (const entry of this.#entries) this.#leave(entry);
    this.#entries = [];
    this.#late = new Backlog();
  }

  get #hasRoom(): boolean {
    return this.#bytes < this.#options.bufferBytes;
  }

  #note(notice: Notice): void {
    if (notice.type === "dropped") this.#late.dropped(notice.data);
    else this.#late.device(notice.data);
  }

  #appendLate(): void {
    if (this.#late.isEmpty) return;
    for (const notice of this.#late.take()) {
      const text = JSON.stringify(notice.data);
      const bytes = text.length + NOTICE_BYTES;
      this.#entries.push({ kind: "notice", notice, text, bytes });
      this.#bytes += bytes;
      this.#options.memory.add(bytes);
    }
  }

  #leave(entry: Entry | undefined): void {
    if (entry === undefined) return;
    const { memory, kind } = this.#options;
    this.#bytes -= entry.bytes;
    if (entry.kind === "batch") memory.release(entry.batch, kind);
    else memory.add(-entry.bytes);
  }
}
