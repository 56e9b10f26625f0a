import { Cancel } from "./cancel.ts";
import { EventReading, FrameReading, type Reading } from "./reading.ts";
import type { CallEnd, SessionCalls, SessionSettings } from "./session_calls.ts";
import { SessionReader } from "./session_reader.ts";
import type { ClientFrame, SessionInfo, SessionState, StreamEvent } from "./types.ts";

/**
 * A place on the server that remembers how far we have come. Reading goes on there after a lost connection, a restart of
 * the server or of this program: each frame once, in order, while the program lives; after that a frame may come again
 * that was taken and not yet acknowledged.
 *
 * Leaving the loop leaves the place on the server: {@linkcode Session.delete} takes it away. The frame at which the loop
 * was left has not been taken: it comes again, unless it is acknowledged by hand.
 */
export class Session implements AsyncIterable<ClientFrame> {
  /** What it is called on the server. */
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
   * Makes it, or gives the one there is our filter and timeout. Reading does so by itself.
   *
   * @throws {ApiError} 400: the id, the filter or the timeout cannot be used
   */
  async put(): Promise<SessionInfo> {
    return await this.#calls.put(this.#settings, this.#end);
  }

  /** How it stands. @throws {ApiError} 404: it is not there */
  async state(): Promise<SessionState> {
    return await this.#calls.state(this.#end);
  }

  /**
   * Every frame up to and with `seq` is done with.
   *
   * @throws {ApiError} 404: it is not there; 400: nothing has that number yet; 503: the server could not sync the frames
   *   to its disk, and the session has not moved
   */
  async ack(seq: number): Promise<void> {
    await this.#calls.ack(seq, this.#end);
  }

  /** Takes it away; who reads it is told. @throws {ApiError} 404: it is not there */
  async delete(): Promise<void> {
    await this.#calls.delete(this.#end);
  }

  /**
   * The frames alone, one reader at a time.
   *
   * @throws {ApiError} the server refuses for good
   * @throws {ConnectionError} no more tries are allowed
   * @throws {FallenBehindError} frames are kept no longer, and `fallenBehind` is `throw`
   * @throws {SupersededError} somebody else reads it now
   * @throws {SessionDeletedError} somebody has deleted it
   */
  [Symbol.asyncIterator](): Reading<ClientFrame> {
    return new FrameReading(this.events());
  }

  /** The frames with all else that happens, in order. Throws as the frames do. */
  events(): Reading<StreamEvent> {
    const { clientSignal, signal } = this.#settings;
    const cancel = new Cancel([clientSignal, signal]);
    const reader = new SessionReader(this.id, { calls: this.#calls, settings: this.#settings, cancel });
    return new EventReading(reader.events(), cancel);
  }

  get #end(): CallEnd {
    return { signal: this.#settings.signal };
  }
}
