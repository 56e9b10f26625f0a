import { type Api, parseJson, type QueryValue } from "./api.ts";
import { Cancel, pause } from "./cancel.ts";
import { ConnectionError } from "./errors.ts";
import { readEvents, type ServerEvent } from "./event_stream.ts";
import { deviceEventOf } from "./other_forms.ts";
import { EventReading, FrameReading, type Reading } from "./reading.ts";
import { Retry, type RetryOptions } from "./retry.ts";
import type { ClientFrame, SourceEvent, StreamEvent } from "./types.ts";

/** Settings of a stream. */
export interface StreamSettings {
  retry: RetryOptions;
  /** Maximum wait for data, milliseconds. */
  silenceMs: number;
  /** Timeout of a request, milliseconds. */
  timeoutMs: number;
  /** Aborts the stream. */
  signal: AbortSignal | undefined;
  /** Aborts everything that the client does. */
  clientSignal: AbortSignal | undefined;
}

/** Options of a live stream. */
export interface LiveStreamOptions extends StreamSettings {
  query: Record<string, QueryValue>;
}

/** Data of the event `dropped`. */
interface DroppedData {
  from_seq: number;
  to_seq: number;
  count: number | null;
  backfill?: boolean;
  reason?: string;
}

/** Progress of an iteration over several connections. */
interface Progress {
  /** Sequence number of the last frame. */
  lastSeq: number | undefined;
}

/** The iterator of the class, which `deno pack` leaves out of its declaration. */
export interface Subscription {
  /** Iterates over the frames. */
  [Symbol.asyncIterator](): Reading<ClientFrame>;
}

/** Live frames from the start of the iteration on. Each iteration has its own connection. */
export class Subscription implements AsyncIterable<ClientFrame> {
  readonly #api: Api;
  readonly #options: LiveStreamOptions;

  /** @ignore */
  constructor(api: Api, options: LiveStreamOptions) {
    this.#api = api;
    this.#options = options;
  }

  /**
   * Iterates over the frames.
   *
   * @throws {ApiError} the server responds with a permanent error
   * @throws {ConnectionError} all retries have failed
   */
  [Symbol.asyncIterator](): Reading<ClientFrame> {
    return new FrameReading(this.events());
  }

  /** Iterates over the frames and all other events, in order. Throws the same errors. */
  events(): Reading<StreamEvent> {
    const { clientSignal, signal } = this.#options;
    const cancel = new Cancel([clientSignal, signal]);
    return new EventReading(this.#events(cancel.signal), cancel);
  }

  async *#events(signal: AbortSignal): AsyncGenerator<StreamEvent, void, undefined> {
    const retry = new Retry(this.#options.retry);
    const progress: Progress = { lastSeq: undefined };
    for (;;) {
      try {
        yield* this.#connection(progress, { retry, signal });
      } catch (error) {
        yield* afterFailure(error, { retry, signal });
      }
    }
  }

  async *#connection(
    progress: Progress,
    { retry, signal }: { retry: Retry; signal: AbortSignal },
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const { query, silenceMs } = this.#options;
    const reply = await this.#api.open("/events", { query, signal });
    let isNew = true;
    try {
      yield { type: "connected" };
      for await (const events of readEvents(reply, { silenceMs })) {
        retry.succeeded();
        for (const event of events) {
          const parsed = parseEvent(event);
          if (parsed?.type === "frame") {
            const { seq } = parsed.frame;
            yield* gapBefore(seq, { lastSeq: progress.lastSeq, isNew });
            isNew = false;
            progress.lastSeq = seq;
          } else if (parsed?.type === "dropped" && isNew) {
            // What was missed between the connections comes before what the server has dropped since.
            const { lastSeq = Infinity } = progress;
            if (parsed.fromSeq > lastSeq + 1) yield missedAfter(lastSeq, parsed.fromSeq);
            isNew = false;
          }
          // Some servers send device events without a request.
          if (parsed && (parsed.type !== "device" || query.devices)) yield parsed;
        }
      }
    } finally {
      reply.close();
    }
    throw new ConnectionError("The server has ended the stream");
  }
}

/** Yields the failure and waits. @throws the error if it is permanent or all retries have failed; the signal's reason */
export async function* afterFailure(
  error: unknown,
  { retry, signal }: { retry: Retry; signal: AbortSignal },
): AsyncGenerator<StreamEvent, void, undefined> {
  signal.throwIfAborted();
  const retryMs = retry.waitMs(error);
  if (error instanceof Error) yield { type: "disconnected", error, retryMs };
  await pause(retryMs, signal);
}

/** Parses an event; undefined for events that this version does not know. */
export function parseEvent({ name, data }: ServerEvent): StreamEvent | undefined {
  switch (name) {
    case undefined: {
      const frame = parseJson<ClientFrame>(data, "Frame");
      const device = deviceEventOf(frame);
      return device ? { type: "device", ...device } : { type: "frame", frame };
    }
    case "device":
      return { type: "device", ...parseJson<Omit<Extract<StreamEvent, { type: "device" }>, "type">>(data, "Device") };
    case "source":
      return { type: "source", source: parseJson<SourceEvent>(data, "Source") };
    case "dropped": {
      const { from_seq, to_seq, count, backfill, reason } = parseJson<DroppedData>(data, "Dropped frames");
      return {
        type: "dropped",
        fromSeq: from_seq,
        toSeq: to_seq,
        count,
        ...(backfill && { backfill }),
        ...(reason !== undefined && { reason }),
      };
    }
    default:
      return undefined;
  }
}

/**
 * The event before a frame, if sequence numbers are missing or have begun again. Gaps matter only for the first frame of a
 * connection: later ones are frames that do not match the filter, or that the server has reported as dropped.
 */
function* gapBefore(
  seq: number,
  { lastSeq, isNew }: Progress & { isNew: boolean },
): Generator<StreamEvent, void, undefined> {
  if (lastSeq === undefined) return;
  if (seq <= lastSeq) yield { type: "new_epoch" };
  else if (isNew && seq > lastSeq + 1) yield missedAfter(lastSeq, seq);
}

function missedAfter(lastSeq: number, nextSeq: number): StreamEvent {
  return { type: "missed", fromSeq: lastSeq + 1, toSeq: nextSeq - 1, why: "away" };
}
