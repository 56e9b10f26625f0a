import { type Api, parseJson, type QueryValue } from "./api.ts";
import { Cancel, pause } from "./cancel.ts";
import { ConnectionError } from "./errors.ts";
import { readEvents, type ServerEvent } from "./event_stream.ts";
import { deviceEventOf } from "./other_forms.ts";
import { EventReading, FrameReading, type Reading } from "./reading.ts";
import { Retry, type RetryOptions } from "./retry.ts";
import type { ClientFrame, StreamEvent } from "./types.ts";

/** How a stream is read. */
export interface StreamSettings {
  retry: RetryOptions;
  /** A connection that is silent for so long is dead, milliseconds. */
  silenceMs: number;
  /** Longest wait for an answer, milliseconds. */
  timeoutMs: number;
  /** Ends it. */
  signal: AbortSignal | undefined;
  /** Ends all that the client does. */
  clientSignal: AbortSignal | undefined;
}

/** What a live stream is asked for. */
export interface LiveStreamOptions extends StreamSettings {
  query: Record<string, QueryValue>;
}

/** What a server says of frames that are not there. */
interface DroppedData {
  from_seq: number;
  to_seq: number;
  count: number | null;
  backfill?: boolean;
  reason?: string;
}

/** How far a reading has come. */
interface Place {
  /** Number of the last frame. */
  last: number | undefined;
}

/** Live frames, from when the reading begins. Each reading has a connection of its own. */
export class Subscription implements AsyncIterable<ClientFrame> {
  readonly #api: Api;
  readonly #options: LiveStreamOptions;

  /** @ignore */
  constructor(api: Api, options: LiveStreamOptions) {
    this.#api = api;
    this.#options = options;
  }

  /**
   * The frames alone.
   *
   * @throws {ApiError} the server refuses for good
   * @throws {ConnectionError} no more tries are allowed
   */
  [Symbol.asyncIterator](): Reading<ClientFrame> {
    return new FrameReading(this.events());
  }

  /** The frames with all else that happens, in order. Throws as the frames do. */
  events(): Reading<StreamEvent> {
    const { clientSignal, signal } = this.#options;
    const cancel = new Cancel([clientSignal, signal]);
    return new EventReading(this.#events(cancel.signal), cancel);
  }

  async *#events(signal: AbortSignal): AsyncGenerator<StreamEvent, void, undefined> {
    const retry = new Retry(this.#options.retry);
    const place: Place = { last: undefined };
    for (;;) {
      try {
        yield* this.#connection(place, { retry, signal });
      } catch (error) {
        yield* afterFailure(error, { retry, signal });
      }
    }
  }

  async *#connection(
    place: Place,
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
          const told = eventOf(event);
          if (told?.type === "frame") {
            const { seq } = told.frame;
            yield* between(place.last, seq, { isNew });
            isNew = false;
            place.last = seq;
          }
          // Some servers send these unasked.
          if (told && (told.type !== "device" || query.devices)) yield told;
        }
      }
    } finally {
      reply.close();
    }
    throw new ConnectionError("The server has ended the stream");
  }
}

/** Tells of the failure, and waits. @throws the error, when that was all; the signal's reason */
export async function* afterFailure(
  error: unknown,
  { retry, signal }: { retry: Retry; signal: AbortSignal },
): AsyncGenerator<StreamEvent, void, undefined> {
  signal.throwIfAborted();
  const retryMs = retry.waitMs(error);
  if (error instanceof Error) yield { type: "disconnected", error, retryMs };
  await pause(retryMs, signal);
}

/** An event in our words; undefined: it says nothing that we know. */
export function eventOf({ name, data }: ServerEvent): StreamEvent | undefined {
  switch (name) {
    case undefined: {
      const frame = parseJson<ClientFrame>(data, "Frame");
      const device = deviceEventOf(frame);
      return device ? { type: "device", ...device } : { type: "frame", frame };
    }
    case "device":
      return { type: "device", ...parseJson<Omit<Extract<StreamEvent, { type: "device" }>, "type">>(data, "Device") };
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
 * What lies between two frames. Of those that came over one connection nothing is missing: the filter did not want what is
 * between them, or the server has told.
 */
function* between(
  last: number | undefined,
  seq: number,
  { isNew }: { isNew: boolean },
): Generator<StreamEvent, void, undefined> {
  if (last === undefined) return;
  if (seq <= last) yield { type: "new_epoch" };
  else if (isNew && seq > last + 1) yield { type: "missed", fromSeq: last + 1, toSeq: seq - 1, why: "away" };
}
