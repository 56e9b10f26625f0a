import type { Clock } from "../../base/mod.ts";
import type { FrameDetail, FrameJson } from "../../broker/mod.ts";
import type { StoredFrame } from "../../frame/mod.ts";
import {
  type ClientSessions,
  type MissingFrames,
  SessionError,
  type SessionStream,
  type StreamEnd,
  type StreamMember,
  type StreamMemory,
  TRANSPORT_BYTES,
} from "../../stream/mod.ts";
import { KEEP_ALIVE, SILENCE_MS, STREAM_HEADERS } from "../streams/sse.ts";

/** Limits of one write: frames and payload bytes. */
const WRITE = { maxFrames: 512, maxBytes: 65_536 };
/** Limits of one write while the stream memory is nearly used up. */
const SMALL_WRITE = { maxFrames: 16, maxBytes: 4096 };
const SILENCE_CHECK_MS = 1000;

const encoder = new TextEncoder();

/** Options of {@linkcode SessionEvents}. */
export interface SessionEventsOptions extends FrameDetail {
  sessions: Pick<ClientSessions, "stream">;
  json: FrameJson;
  clock: Clock;
  /** Counts the stream as open; returns its release function. */
  openStream: () => () => void;
  /** Memory budget of all streams. */
  memory: StreamMemory;
}

/**
 * The event stream of a session. Frames are read only when the client reads, so none is dropped. The stream is registered
 * with the session at the first read.
 */
export class SessionEvents implements StreamMember {
  readonly queuedBytes = 0;
  readonly #id: string;
  readonly #options: SessionEventsOptions;
  readonly #body: ReadableStream<Uint8Array>;
  #state:
    | { kind: "new" }
    | { kind: "open"; stream: SessionStream; release: () => void; silence: ReturnType<typeof setInterval> }
    | { kind: "ended" } = { kind: "new" };
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isWaiting = false;
  #lastWriteMs = 0;
  /** Events that wait for the next write. */
  #events: string[] = [];

  constructor(id: string, options: SessionEventsOptions) {
    this.#id = id;
    this.#options = options;
    this.#body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => this.#leave(),
    }, { highWaterMark: 0 });
  }

  /** The reply that carries the stream. */
  response(): Response {
    return new Response(this.#body, { headers: STREAM_HEADERS });
  }

  get transportBytes(): number {
    return this.#isWaiting ? 0 : TRANSPORT_BYTES;
  }

  async #pull(): Promise<void> {
    if (this.#state.kind === "new") this.#open();
    if (this.#state.kind !== "open") return;
    this.#isWaiting = true;
    const most = this.#options.memory.isTight ? SMALL_WRITE : WRITE;
    await this.#state.stream.read((frame) => this.#events.push(`data: ${this.#text(frame)}\n\n`), most);
    this.#isWaiting = false;
    this.#write();
  }

  #open(): void {
    const { sessions, openStream, clock, memory } = this.#options;
    const closeStream = openStream();
    const leaveMemory = memory.join(this);
    const release = () => {
      closeStream();
      leaveMemory();
    };
    this.#lastWriteMs = clock.monoMs();
    try {
      const stream = sessions.stream(this.#id, {
        ended: (how) => this.#end(how),
        missing: (frames) => this.#missing(frames),
      });
      const silence = setInterval(() => this.#keepAlive(), SILENCE_CHECK_MS);
      this.#state = { kind: "open", stream, release, silence };
      if (!stream.isOpen) this.#close();
    } catch (error) {
      release();
      if (!(error instanceof SessionError)) throw error;
      // The session was deleted after the request was checked.
      this.#end({ code: "deleted" });
    }
  }

  #text(frame: StoredFrame): string {
    const { json } = this.#options;
    return json.wantedOf(frame.seq, this.#options) ?? json.ofStored(frame, this.#options);
  }

  #missing({ fromSeq, toSeq, backfill, reason }: MissingFrames): void {
    this.#addEvent("dropped", {
      from_seq: fromSeq,
      to_seq: toSeq,
      count: reason === "restart" ? null : toSeq - fromSeq + 1,
      ...(backfill && { backfill }),
      ...(reason !== undefined && { reason }),
    });
    // Written now: the next frame may come much later.
    this.#write();
  }

  #addEvent(name: string, data: Record<string, unknown>): void {
    this.#events.push(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #write(): void {
    if (this.#events.length === 0) return;
    this.#controller?.enqueue(encoder.encode(this.#events.join("")));
    this.#events = [];
    this.#lastWriteMs = this.#options.clock.monoMs();
  }

  #keepAlive(): void {
    const nowMs = this.#options.clock.monoMs();
    if (!this.#isWaiting || nowMs - this.#lastWriteMs < SILENCE_MS) return;
    this.#controller?.enqueue(encoder.encode(KEEP_ALIVE));
    this.#lastWriteMs = nowMs;
  }

  #end(how: StreamEnd): void {
    if (how.code === "fallen_behind") this.#addEvent("error", { code: how.code, oldest_seq: how.oldestSeq });
    else if (how.code !== "stopped" && how.code !== "left") this.#addEvent("error", { code: how.code });
    this.#write();
    this.#controller?.close();
    this.#controller = undefined;
    this.#close();
  }

  /** The client has disconnected. */
  #leave(): void {
    this.#controller = undefined;
    if (this.#state.kind === "open") this.#state.stream.end({ code: "left" });
    this.#close();
  }

  #close(): void {
    const state = this.#state;
    if (state.kind !== "open") return;
    this.#state = { kind: "ended" };
    clearInterval(state.silence);
    state.release();
  }
}
