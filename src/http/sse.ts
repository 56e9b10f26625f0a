import type { Clock } from "../base/mod.ts";
import type { SkippedFrames } from "../broker/mod.ts";
import type { DeviceEvent } from "../frame/mod.ts";
import { Backlog } from "./backlog.ts";
import type { Batch } from "./batch.ts";
import type { StreamClient } from "./stream_hub.ts";

/** A stream that has been silent for this long gets a comment, so that proxies keep it open. */
export const SILENCE_MS = 15_000;

const encoder = new TextEncoder();
/** A comment that says nothing. */
export const KEEP_ALIVE = encoder.encode(": alive\n\n");

/** Headers of every event stream. */
export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Accel-Buffering": "no",
} as const;

/** How an event stream behaves. */
export interface EventStreamOptions {
  clock: Clock;
  /** Most bytes that wait for a client that reads too slowly. */
  bufferBytes: number;
  /** Send `event: device` too. */
  devices: boolean;
  /** Called once when the stream has ended, whoever ended it. */
  ended: () => void;
}

/** A client on an event stream (SSE). What it cannot take in time is dropped, counted and told. */
export class EventStream implements StreamClient {
  readonly kind = "sse";
  readonly #options: EventStreamOptions;
  readonly #body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #backlog = new Backlog();
  #lastWriteMs: number;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#lastWriteMs = options.clock.monoMs();
    this.#body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => this.#end(),
    }, new ByteLengthQueuingStrategy({ highWaterMark: options.bufferBytes }));
  }

  /** The reply that carries the stream. */
  response(): Response {
    return new Response(this.#body, { headers: STREAM_HEADERS });
  }

  get waitingBytes(): number {
    const room = this.#controller?.desiredSize;
    return room === undefined || room === null ? 0 : this.#options.bufferBytes - room;
  }

  deliver(batch: Batch): number {
    if (!this.#hasRoom()) return this.#backlog.missed(batch);
    this.#tellBacklog();
    this.#write(batch.events);
    return 0;
  }

  lost(dropped: SkippedFrames): void {
    this.#backlog.dropped(dropped);
  }

  device(event: DeviceEvent): void {
    if (!this.#options.devices) return;
    this.#backlog.device(event);
    if (this.#hasRoom()) this.#tellBacklog();
  }

  housekeeping(nowMs: number): void {
    if (!this.#hasRoom()) return;
    this.#tellBacklog();
    if (nowMs - this.#lastWriteMs >= SILENCE_MS) this.#write(KEEP_ALIVE);
  }

  end(): void {
    this.#tellBacklog();
    this.#controller?.close();
    this.#end();
  }

  #hasRoom(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Writes what the client must know before the next frame. */
  #tellBacklog(): void {
    for (const { type, data } of this.#backlog.take()) {
      this.#write(encoder.encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`));
    }
  }

  #write(bytes: Uint8Array): void {
    this.#controller?.enqueue(bytes);
    this.#lastWriteMs = this.#options.clock.monoMs();
  }

  #end(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#options.ended();
  }
}
