import { type OpenReply, parseJson } from "./api.ts";
import type { Cancel } from "./cancel.ts";
import { ApiError, ConnectionError, FallenBehindError, SessionDeletedError, SupersededError } from "./errors.ts";
import { readEvents } from "./event_stream.ts";
import { afterFailure, eventOf } from "./live_stream.ts";
import { isPassing, Retry } from "./retry.ts";
import type { CallEnd, SessionCalls, SessionSettings } from "./session_calls.ts";
import type { SessionInfo, StreamEvent } from "./types.ts";

type Events = AsyncGenerator<StreamEvent, void, undefined>;

/** Why the server has ended a stream. */
interface EndData {
  code: string;
  oldest_seq?: number;
}

/** Longest wait for the last acknowledgement: the server may wait for its disk for 5 s. */
const LAST_ACK_MS = 6000;
/** Longest time that timers know. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a reading is made of. */
interface ReaderParts {
  calls: SessionCalls;
  settings: SessionSettings;
  cancel: Cancel;
}

/** One reading of a session, over as many connections as it takes. */
export class SessionReader {
  readonly #id: string;
  readonly #calls: SessionCalls;
  readonly #settings: SessionSettings;
  readonly #cancel: Cancel;
  readonly #retry: Retry;
  #isMade = false;
  /** The server has just refused to make it: what it says is about more than the session. */
  #isRefused = false;
  /** Where the server would go on, and in which run of numbers, when it was last asked. */
  #cursor = 0;
  #epoch: string | undefined;
  /** Newest number that was given to the consumer, that it is done with, and that the server knows of. */
  #given = 0;
  #taken = 0;
  #acked = 0;
  #acking: Promise<void> | undefined;
  /** Frames are gone, and are to be passed over. */
  #behind: FallenBehindError | undefined;
  #isEpochTold = false;
  /** The session is no more ours. */
  #isOver = false;

  /** @param parts.cancel ends the reading; to be released by who gave it */
  constructor(id: string, { calls, settings, cancel }: ReaderParts) {
    this.#id = id;
    this.#calls = calls;
    this.#settings = settings;
    this.#cancel = cancel;
    this.#retry = new Retry(settings.retry);
  }

  /** The frames, and what happens. */
  async *events(): Events {
    const { ack, ackIntervalMs } = this.#settings;
    const isAutomatic = ack === "taken";
    const everyMs = Math.min(ackIntervalMs, MAX_TIMER_MS);
    const timer = isAutomatic ? setInterval(() => void this.#acknowledge(), everyMs) : undefined;
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

  /** One connection. Returns when the next one can be made at once. */
  async *#connection(): Events {
    const end = { signal: this.#cancel.signal };
    if (this.#behind) yield* this.#passOver(this.#behind);
    yield* this.#compare(await this.#place());
    // What was taken need not come again.
    if (this.#settings.ack === "taken") await this.#acknowledge();
    const reply = await this.#open(end);
    try {
      yield { type: "connected" };
      for await (const events of readEvents(reply, this.#settings)) {
        this.#retry.succeeded();
        for (const event of events) {
          if (event.name === "error") return yield* this.#ended(parseJson<EndData>(event.data, "End of the stream"));
          const told = eventOf(event);
          if (told?.type === "frame") yield* this.#give(told);
          else if (told) yield told;
        }
      }
    } finally {
      reply.close();
    }
    throw new ConnectionError("The server has ended the stream");
  }

  /** Gives a frame, unless it came before the last connection was lost. */
  *#give(event: Extract<StreamEvent, { type: "frame" }>): Generator<StreamEvent, void, undefined> {
    const { seq } = event.frame;
    if (seq <= this.#given) return;
    this.#given = seq;
    this.#isEpochTold = false;
    yield event;
    this.#taken = seq;
  }

  /** The session on the server; made where it is not there. */
  async #place(): Promise<Pick<SessionInfo, "seq" | "cursor" | "epoch">> {
    const end = { signal: this.#cancel.signal };
    this.#isRefused = false;
    if (this.#isMade || this.#settings.bufferTimeout === undefined) {
      try {
        return await this.#calls.state(end);
      } catch (error) {
        if (!this.#canBeMade(error)) throw error;
      }
    }
    try {
      const made = await this.#calls.put(this.#settings, end);
      this.#isMade = true;
      return made;
    } catch (error) {
      this.#isRefused = true;
      throw error;
    }
  }

  /** Where the server would go on, and where we are. */
  async *#compare({ seq, cursor, epoch }: Pick<SessionInfo, "seq" | "cursor" | "epoch">): Events {
    const isOther = this.#epoch !== undefined && epoch !== undefined && epoch !== this.#epoch;
    this.#epoch = epoch;
    if (isOther || seq < this.#given) yield* this.#renumber();
    const isUnderWay = this.#given > 0 || this.#isEpochTold;
    if (isUnderWay && cursor > this.#given + 1) {
      yield { type: "missed", fromSeq: this.#given + 1, toSeq: cursor - 1, why: "expired" };
      this.#doneThrough(cursor - 1);
    }
    this.#cursor = cursor;
  }

  async #open(end: CallEnd): Promise<OpenReply> {
    try {
      return await this.#calls.open(this.#settings, end);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 410) throw error;
      throw this.#fallenBehind(error.problem.oldest_seq);
    }
  }

  /** The server has said why it ends the stream. */
  async *#ended({ code, oldest_seq }: EndData): Events {
    switch (code) {
      case "new_epoch":
        return yield* this.#renumber();
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
    return new FallenBehindError(this.#id, { fromSeq: Math.max(this.#cursor, this.#given + 1), oldestSeq });
  }

  /** Goes on with the oldest frame there is. */
  async *#passOver({ fromSeq, oldestSeq }: FallenBehindError): Events {
    await this.#calls.ack(oldestSeq - 1, { signal: this.#cancel.signal });
    this.#behind = undefined;
    if (oldestSeq > fromSeq) yield { type: "missed", fromSeq, toSeq: oldestSeq - 1, why: "fallen_behind" };
    this.#doneThrough(oldestSeq - 1);
  }

  #doneThrough(seq: number): void {
    this.#given = this.#taken = this.#acked = Math.max(this.#given, seq);
  }

  /** Numbers have begun again. */
  async *#renumber(): Events {
    await this.#acking;
    this.#given =
      this.#taken =
      this.#acked =
      this.#cursor =
        0;
    if (this.#isEpochTold) return;
    this.#isEpochTold = true;
    yield { type: "new_epoch" };
  }

  async *#recover(error: unknown): Events {
    const { signal } = this.#cancel;
    signal.throwIfAborted();
    if (error instanceof FallenBehindError && this.#settings.fallenBehind === "skip") {
      this.#behind = error;
      return;
    }
    // It has gone between two requests.
    const failure = this.#canBeMade(error) && !this.#isRefused
      ? new ConnectionError("The session was gone", { cause: error })
      : error;
    yield* afterFailure(failure, { retry: this.#retry, signal });
  }

  /** Whether the session is gone, or the server cannot say how it stands: some know no GET of it. */
  #canBeMade(error: unknown): boolean {
    return error instanceof ApiError && [404, 405].includes(error.status) && this.#settings.bufferTimeout !== undefined;
  }

  /** Acknowledges what was taken, one request at a time. */
  #acknowledge(end: CallEnd = { signal: this.#cancel.signal }): Promise<void> {
    return this.#acking ??= this.#ackTaken(end).finally(() => this.#acking = undefined);
  }

  async #ackTaken(end: CallEnd): Promise<void> {
    const taken = this.#taken;
    if (taken <= this.#acked) return;
    try {
      await this.#calls.ack(taken, end);
      this.#acked = taken;
    } catch (error) {
      // What passes is tried again; of a session that is gone, or counts anew, the stream tells.
      const isTold = error instanceof ApiError && (error.status === 404 || error.status === 400);
      if (!isPassing(error) && !isTold) this.#cancel.abort(error);
    }
  }
}
