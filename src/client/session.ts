import { Cancel } from "./cancel.ts";
import { EventReading, FrameReading, type Reading } from "./reading.ts";
import type { SessionCall, SessionCalls, SessionSettings } from "./session_calls.ts";
import { SessionReader } from "./session_reader.ts";
import type { ClientFrame, SessionInfo, SessionState, StreamEvent } from "./types.ts";

/** The iterator of the class, which `deno pack` leaves out of its declaration. */
export interface Session {
  /** Iterates over the frames; a session has one reader at a time. */
  [Symbol.asyncIterator](): Reading<ClientFrame>;
}

/**
 * A cursor that the server stores. Reading resumes there after a lost connection, or a restart of the server or of this
 * program. While the program runs, each frame is read once and in order; after a restart of the program, frames that were
 * read and not yet acknowledged are read again.
 *
 * Ending the loop leaves the session on the server; {@linkcode Session.delete} removes it. The frame at which the loop
 * ended is read again, unless it is acknowledged with {@linkcode Session.ack}.
 */
export class Session implements AsyncIterable<ClientFrame> {
  /** Id of the session on the server. */
  readonly id: string;
  readonly #calls: SessionCalls;
  readonly #settings: SessionSettings;

  /** @ignore */
  constructor(id: string, { calls, settings }: { calls: SessionCalls; settings: SessionSettings }) {
    this.id = id;
    this.#calls = calls;
    this.#settings = settings;
  }

  /**
   * Creates the session, or sets filter and timeout of an existing one. Reading does this automatically.
   *
   * @throws {ApiError} 400: the id, the filter or the timeout is invalid
   */
  async put(): Promise<SessionInfo> {
    return await this.#calls.put(this.#settings, this.#call);
  }

  /** State of the session on the server. @throws {ApiError} 404: it does not exist */
  async state(): Promise<SessionState> {
    return await this.#calls.state(this.#call);
  }

  /**
   * Acknowledges all frames up to and including `seq`.
   *
   * @throws {ApiError} 404: the session does not exist; 400: no frame has that number yet; 503: the server could not sync
   *   the frames to its disk, and the session has not advanced
   */
  async ack(seq: number): Promise<void> {
    await this.#calls.ack(seq, this.#call);
  }

  /** Deletes the session and ends its stream. @throws {ApiError} 404: it does not exist */
  async delete(): Promise<void> {
    await this.#calls.delete(this.#call);
  }

  /**
   * Iterates over the frames; a session has one reader at a time.
   *
   * @throws {ApiError} the server responds with a permanent error
   * @throws {ConnectionError} all retries have failed
   * @throws {FallenBehindError} the server no longer has the next frames, and `fallenBehind` is `throw`
   * @throws {SupersededError} another client reads the session now
   * @throws {SessionDeletedError} the session was deleted
   */
  [Symbol.asyncIterator](): Reading<ClientFrame> {
    return new FrameReading(this.events());
  }

  /** Iterates over the frames and all other events, in order. Throws the same errors. */
  events(): Reading<StreamEvent> {
    const { clientSignal, signal } = this.#settings;
    const cancel = new Cancel([clientSignal, signal]);
    const reader = new SessionReader(this.id, { calls: this.#calls, settings: this.#settings, cancel });
    return new EventReading(reader.events(), cancel);
  }

  get #call(): SessionCall {
    return { signal: this.#settings.signal };
  }
}
