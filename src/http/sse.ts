import type { Clock } from "../base/mod.ts";
import type { SkippedFrames } from "../broker/mod.ts";
import type { DeviceEvent } from "../frame/mod.ts";
import type { Batch } from "./batch.ts";
import { ClientQueue, type Portion } from "./client_queue.ts";
import type { StreamClient } from "./stream_client.ts";
import { type StreamMemory, TRANSPORT_BYTES } from "./stream_memory.ts";

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
  /** The budget of all streams. */
  memory: StreamMemory;
  /** Send `event: device` too. */
  devices: boolean;
  /** Called once when the stream has ended, whoever ended it. */
  ended: () => void;
}

/** A client on an event stream (SSE). What it cannot take in time is dropped, counted and told. */
export class EventStream implements StreamClient {
  readonly kind = "sse";
  readonly needsDrain = false;
  readonly #options: EventStreamOptions;
  readonly #body: ReadableStream<Uint8Array>;
  readonly #queue: ClientQueue;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The transport has asked for more and has not got it. Otherwise its own buffers are full. */
  #isAsked = false;
  #lastWriteMs: number;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#queue = new ClientQueue({ kind: this.kind, ...options });
    this.#lastWriteMs = options.clock.monoMs();
    // The queue is ours, not the stream's: what waits in it can still be dropped.
    this.#body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => {
        this.#isAsked = true;
        this.drain();
      },
      cancel: () => this.#end(),
    }, { highWaterMark: 0 });
  }

  /** The reply that carries the stream. */
  response(): Response {
    return new Response(this.#body, { headers: STREAM_HEADERS });
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  get waitingBytes(): number {
    return this.#queue.bytes;
  }

  get transportBytes(): number {
    return this.#isAsked ? 0 : TRANSPORT_BYTES;
  }

  deliver(batch: Batch): number {
    const dropped = this.#queue.push(batch);
    this.drain();
    return dropped;
  }

  lost(dropped: SkippedFrames): void {
    this.#queue.lost(dropped);
  }

  device(event: DeviceEvent): void {
    if (!this.#options.devices) return;
    this.#queue.device(event);
    this.drain();
  }

  drain(): boolean {
    const portion = this.#isAsked ? this.#queue.take(Infinity) : undefined;
    if (portion === undefined) return false;
    this.#write(bytesOf(portion));
    return true;
  }

  shed(): number {
    return this.#queue.shed();
  }

  housekeeping(nowMs: number): void {
    this.drain();
    if (this.#isAsked && nowMs - this.#lastWriteMs >= SILENCE_MS) this.#write(KEEP_ALIVE);
  }

  end(): void {
    for (let next = this.#queue.take(Infinity); next; next = this.#queue.take(Infinity)) this.#write(bytesOf(next));
    this.#controller?.close();
    this.#end();
  }

  #write(bytes: Uint8Array): void {
    this.#isAsked = false;
    this.#controller?.enqueue(bytes);
    this.#lastWriteMs = this.#options.clock.monoMs();
  }

  #end(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#queue.clear();
    this.#options.ended();
  }
}

function bytesOf(portion: Portion): Uint8Array {
  if (portion.kind === "frames") return portion.batch.events;
  return encoder.encode(`event: ${portion.type}\ndata: ${portion.text}\n\n`);
}
