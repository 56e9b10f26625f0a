import type { Cancel } from "./cancel.ts";
import type { ClientFrame, StreamEvent } from "./types.ts";

/** An iterator for `for await`. */
export interface Reading<T> extends AsyncIterableIterator<T, void, undefined> {
  /** Ends the iteration, also while `next` is pending. */
  return(): Promise<IteratorResult<T, void>>;
}

/** A generator that can be ended while `next` is pending, which plain generators cannot. */
export class EventReading implements Reading<StreamEvent> {
  readonly #events: AsyncGenerator<StreamEvent, void, undefined>;
  readonly #cancel: Cancel;
  #isEnded = false;

  /** @param cancel aborts what the generator waits for; released at its end */
  constructor(events: AsyncGenerator<StreamEvent, void, undefined>, cancel: Cancel) {
    this.#events = events;
    this.#cancel = cancel;
  }

  async next(): Promise<IteratorResult<StreamEvent, void>> {
    try {
      const result = await this.#events.next();
      if (!result.done && this.#cancel.signal.aborted) {
        // Events that arrived together would still be passed one by one.
        await this.#events.return();
        throw this.#cancel.signal.reason;
      }
      if (result.done) this.#cancel.release();
      return result;
    } catch (error) {
      this.#cancel.release();
      if (this.#isEnded) return { done: true, value: undefined };
      throw error;
    }
  }

  async return(): Promise<IteratorResult<StreamEvent, void>> {
    this.#isEnded = true;
    this.#cancel.abort(new Error("The iteration was ended"));
    await this.#events.return();
    this.#cancel.release();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** The frames among events. */
export class FrameReading implements Reading<ClientFrame> {
  readonly #events: Reading<StreamEvent>;

  constructor(events: Reading<StreamEvent>) {
    this.#events = events;
  }

  async next(): Promise<IteratorResult<ClientFrame, void>> {
    for (;;) {
      const { done, value } = await this.#events.next();
      if (done) return { done, value: undefined };
      if (value.type === "frame") return { done: false, value: value.frame };
    }
  }

  async return(): Promise<IteratorResult<ClientFrame, void>> {
    await this.#events.return();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
