import type { Clock } from "../../base/mod.ts";
import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import { type Batch, Chunk, type SourceEvent, type StreamClient, type StreamMemory } from "../../stream/mod.ts";
import { ClientQueue, type Portion } from "./client_queue.ts";
import { type PushedBody, pushedResponse, type PushSink } from "./pushed_body.ts";

/** After this silence a comment is sent, so that proxies keep the stream open; milliseconds. */
export const SILENCE_MS = 15_000;

/** Keep-alive comment. */
export const KEEP_ALIVE = ": alive\n\n";
const keepAlive = new Chunk(KEEP_ALIVE);

/** Headers of every event stream. */
export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Accel-Buffering": "no",
} as const;

/** Options of {@linkcode EventStream}. */
export interface EventStreamOptions {
  clock: Clock;
  /** Maximum bytes queued for a slow client. */
  bufferBytes: number;
  /** Memory budget of all streams. */
  memory: StreamMemory;
  /** Send `event: device` too. */
  devices: boolean;
  /** Send `event: source` too. */
  sources: boolean;
  /** Called once when the stream has ended, by client or server. */
  ended: () => void;
}

/** A client of an event stream (SSE). Frames that it does not read in time are dropped, counted and reported to it. */
export class EventStream implements StreamClient, PushedBody {
  readonly kind = "sse";
  readonly needsDrain = false;
  readonly #options: EventStreamOptions;
  readonly #queue: ClientQueue;
  #state: { kind: "open" } | { kind: "ending" } | { kind: "ended" } = { kind: "open" };
  /** The connection while the body is open. */
  #sink: PushSink | undefined;
  /** The connection accepts more data. */
  #isReady = false;
  /** Data was written since the last housekeeping. */
  #hasWritten = false;
  #lastWriteMs: number;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#queue = new ClientQueue({ kind: this.kind, ...options });
    this.#lastWriteMs = options.clock.monoMs();
  }

  /** The reply that carries the stream. */
  response(): Response {
    return pushedResponse(this, STREAM_HEADERS);
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  get waitingBytes(): number {
    return this.#queue.bytes;
  }

  get transportBytes(): number {
    return this.#isReady ? 0 : this.#sink?.bufferedBytes ?? 0;
  }

  deliver(batch: Batch): number {
    if (this.#isReady && this.#queue.isEmpty) {
      this.#write(batch.events);
      return 0;
    }
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

  source(event: SourceEvent): void {
    if (!this.#options.sources) return;
    this.#queue.source(event);
    this.drain();
  }

  drain(): boolean {
    let sent = false;
    while (this.#isReady) {
      const portion = this.#queue.take(Infinity);
      if (portion === undefined) return sent;
      this.#write(chunkOf(portion));
      sent = true;
    }
    return sent;
  }

  shed(): number {
    return this.#queue.shed();
  }

  housekeeping(nowMs: number): void {
    this.drain();
    if (this.#hasWritten) this.#lastWriteMs = nowMs;
    this.#hasWritten = false;
    if (!this.#isReady || nowMs - this.#lastWriteMs < SILENCE_MS) return;
    this.#write(keepAlive);
    this.#lastWriteMs = nowMs;
    this.#hasWritten = false;
  }

  end(): void {
    if (this.#state.kind !== "open") return;
    this.#state = { kind: "ending" };
    if (this.#sink) this.#finish(this.#sink);
  }

  start(sink: PushSink): void {
    if (this.#state.kind === "ended") return;
    if (this.#state.kind === "ending") return this.#finish(sink);
    this.#sink = sink;
    this.#isReady = true;
    this.drain();
  }

  drained(): void {
    this.#isReady = this.#sink !== undefined;
    this.drain();
  }

  closed(): void {
    if (this.#state.kind === "ended") return;
    this.#state = { kind: "ended" };
    this.#sink = undefined;
    this.#isReady = false;
    this.#queue.clear();
    this.#options.ended();
  }

  #write(chunk: Chunk): void {
    this.#isReady = this.#sink?.write(chunk) ?? false;
    this.#hasWritten = true;
  }

  /** Writes everything queued, whether or not the client reads it, and ends the body. */
  #finish(sink: PushSink): void {
    for (let next = this.#queue.take(Infinity); next; next = this.#queue.take(Infinity)) sink.write(chunkOf(next));
    sink.end();
    this.closed();
  }
}

function chunkOf(portion: Portion): Chunk {
  if (portion.kind === "frames") return portion.batch.events;
  return new Chunk(`event: ${portion.type}\ndata: ${portion.text}\n\n`);
}
