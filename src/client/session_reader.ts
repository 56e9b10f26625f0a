import { type OpenReply, parseJson } from "./api.ts";
import { type Cancel, timerMs } from "./cancel.ts";
import { ApiError, ConnectionError, FallenBehindError, SessionDeletedError, SupersededError } from "./errors.ts";
import { readEvents } from "./event_stream.ts";
import { afterFailure, parseEvent } from "./live_stream.ts";
import { isTransient, Retry } from "./retry.ts";
import type { SessionCall, SessionCalls, SessionSettings } from "./session_calls.ts";
import type { SessionInfo, StreamEvent } from "./types.ts";

type Events = AsyncGenerator<StreamEvent, void, undefined>;

/** Data of the event `error`: why the server has ended the stream. */
interface EndData {
  code: string;
  oldest_seq?: number;
}

/** Timeout of the last acknowledgement: the server may wait 5 s for its disk. */
const LAST_ACK_MS = 6000;

/** Dependencies of a reader. */
interface ReaderParts {
  calls: SessionCalls;
  settings: SessionSettings;
  cancel: Cancel;
}

/** One iteration over a session; reconnects as often as necessary. */
export class SessionReader {
  readonly #id: string;
  readonly #calls: SessionCalls;
  readonly #settings: SessionSettings;
  readonly #cancel: Cancel;
  readonly #retry: Retry;
  #isCreated = false;
  /** Creating the session failed: a status 404 is not about the session. */
  #isCreationFailed = false;
  /** Cursor and epoch on the server when last queried. */
  #cursor = 0;
  #epoch: string | undefined;
  /** Newest sequence number passed to the consumer, processed by it, and acknowledged to the server. */
  #delivered = 0;
  #processed = 0;
  #acked = 0;
  #acking: Promise<void> | undefined;
  /** Set when frames are to be skipped before the next connection. */
  #behind: FallenBehindError | undefined;
  #isEpochReported = false;
  /** The session was deleted or is read by another client: no more acknowledgements. */
  #isOver = false;

  /** @param parts.cancel aborts the iteration; released by the caller */
  constructor(id: string, { calls, settings, cancel }: ReaderParts) {
    this.#id = id;
    this.#calls = calls;
    this.#settings = settings;
    this.#cancel = cancel;
    this.#retry = new Retry(settings.retry);
  }

  /** Frames and other events. */
  async *events(): Events {
    const { ack, ackIntervalMs } = this.#settings;
    const isAutomatic = ack === "taken";
    const timer = isAutomatic ? setInterval(() => void this.#acknowledge(), timerMs(ackIntervalMs)) : undefined;
    try {
      for (;;) {
        try {
          yield* this.#connection();
        } catch (error) {
          yield* this.#recover(error);
        }
      }
    } finally {
      clearInterval(timer);
      await this.#acking;
      if (isAutomatic && !this.#isOver) await this.#acknowledge({ isLast: true, timeoutMs: LAST_ACK_MS });
    }
  }

  /** One connection. Returns when the next one can be opened at once. */
  async *#connection(): Events {
    if (this.#behind) yield* this.#skip(this.#behind);
    yield* this.#compare(await this.#queryOrCreate());
    // Otherwise the server would send processed frames again.
    if (this.#settings.ack === "taken") await this.#acknowledge();
    const reply = await this.#open({ signal: this.#cancel.signal });
    try {
      yield { type: "connected" };
      for await (const events of readEvents(reply, this.#settings)) {
        this.#retry.succeeded();
        for (const event of events) {
          if (event.name === "error") return yield* this.#ended(parseJson<EndData>(event.data, "End of the stream"));
          const parsed = parseEvent(event);
          if (parsed?.type === "frame") yield* this.#deliver(parsed);
          else if (parsed) yield parsed;
        }
      }
    } finally {
      reply.close();
    }
    throw new ConnectionError("The server has ended the stream");
  }

  /** Yields a frame, unless an earlier connection delivered it. */
  *#deliver(event: Extract<StreamEvent, { type: "frame" }>): Generator<StreamEvent, void, undefined> {
    const { seq } = event.frame;
    if (seq <= this.#delivered) return;
    this.#delivered = seq;
    this.#isEpochReported = false;
    yield event;
    this.#processed = seq;
  }

  /** State of the session on the server; creates it if it does not exist. */
  async #queryOrCreate(): Promise<Pick<SessionInfo, "seq" | "cursor" | "epoch">> {
    const call = { signal: this.#cancel.signal };
    this.#isCreationFailed = false;
    if (this.#isCreated || this.#settings.bufferTimeout === undefined) {
      try {
        return await this.#calls.state(call);
      } catch (error) {
        if (!this.#canCreate(error)) throw error;
      }
    }
    try {
      const created = await this.#calls.put(this.#settings, call);
      this.#isCreated = true;
      return created;
    } catch (error) {
      this.#isCreationFailed = true;
      throw error;
    }
  }

  /** Compares the cursor on the server with the delivered frames. */
  async *#compare({ seq, cursor, epoch }: Pick<SessionInfo, "seq" | "cursor" | "epoch">): Events {
    const areKnown = this.#epoch !== undefined && epoch !== undefined;
    // Within an epoch the server may know fewer frames for a while: another node of a cloud.
    const isOther = areKnown ? epoch !== this.#epoch : seq < this.#delivered;
    this.#epoch = epoch;
    if (isOther) yield* this.#startEpoch();
    const isResumed = this.#delivered > 0 || this.#isEpochReported;
    if (isResumed && cursor > this.#delivered + 1) {
      yield { type: "missed", fromSeq: this.#delivered + 1, toSeq: cursor - 1, why: "expired" };
      this.#advance(cursor - 1);
    }
    this.#cursor = cursor;
  }

  async #open(call: SessionCall): Promise<OpenReply> {
    try {
      return await this.#calls.open(this.#settings, call);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 410) throw error;
      throw this.#fallenBehind(error.problem.oldest_seq);
    }
  }

  /** Handles the reason for which the server has ended the stream. */
  async *#ended({ code, oldest_seq }: EndData): Events {
    switch (code) {
      case "new_epoch":
        return yield* this.#startEpoch();
      case "fallen_behind":
        throw this.#fallenBehind(oldest_seq);
      case "superseded":
        this.#isOver = true;
        throw new SupersededError(this.#id);
      case "deleted":
        this.#isOver = true;
        throw new SessionDeletedError(this.#id);
      default:
        throw new ConnectionError(`The server has ended the stream: ${code}`);
    }
  }

  #fallenBehind(oldestSeq = 1): FallenBehindError {
    return new FallenBehindError(this.#id, { fromSeq: Math.max(this.#cursor, this.#delivered + 1), oldestSeq });
  }

  /** Continues with the oldest frame of the server. */
  async *#skip({ fromSeq, oldestSeq }: FallenBehindError): Events {
    await this.#calls.ack(oldestSeq - 1, { signal: this.#cancel.signal });
    this.#behind = undefined;
    if (oldestSeq > fromSeq) yield { type: "missed", fromSeq, toSeq: oldestSeq - 1, why: "fallen_behind" };
    this.#advance(oldestSeq - 1);
  }

  #advance(seq: number): void {
    this.#delivered = this.#processed = this.#acked = Math.max(this.#delivered, seq);
  }

  /** Sequence numbers have begun again. */
  async *#startEpoch(): Events {
    await this.#acking;
    this.#delivered =
      this.#processed =
      this.#acked =
      this.#cursor =
        0;
    if (this.#isEpochReported) return;
    this.#isEpochReported = true;
    yield { type: "new_epoch" };
  }

  async *#recover(error: unknown): Events {
    const { signal } = this.#cancel;
    signal.throwIfAborted();
    if (error instanceof FallenBehindError && this.#settings.fallenBehind === "skip") {
      this.#behind = error;
      return;
    }
    // The session expired between two requests.
    const failure = this.#canCreate(error) && !this.#isCreationFailed
      ? new ConnectionError("The session has expired", { cause: error })
      : error;
    yield* afterFailure(failure, { retry: this.#retry, signal });
  }

  /** True if creating the session can help: it does not exist, or the server has no GET for sessions (405). */
  #canCreate(error: unknown): boolean {
    return error instanceof ApiError && [404, 405].includes(error.status) && this.#settings.bufferTimeout !== undefined;
  }

  /** Acknowledges processed frames, one request at a time. */
  #acknowledge(call: SessionCall = { signal: this.#cancel.signal }): Promise<void> {
    return this.#acking ??= this.#ackProcessed(call).finally(() => this.#acking = undefined);
  }

  async #ackProcessed(call: SessionCall): Promise<void> {
    const seq = this.#processed;
    if (seq <= this.#acked) return;
    try {
      await this.#calls.ack(seq, call);
      this.#acked = seq;
    } catch (error) {
      // Temporary errors are retried. Of an expired session (404) or a new epoch (400) the stream is notified.
      const isHandled = error instanceof ApiError && (error.status === 404 || error.status === 400);
      if (!isTransient(error) && !isHandled) this.#cancel.abort(error);
    }
  }
}
