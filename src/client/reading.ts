import type { Cancel } from "./cancel.ts";
import type { ClientFrame, StreamEvent } from "./types.ts";

/** What comes one after the other, for `for await`. */
export interface Reading<T> extends AsyncIterableIterator<T, void, undefined> {
  /** Ends it, also while something is waited for. */
  return(): Promise<IteratorResult<T, void>>;
}

/** A generator that can be left while it waits, which generators alone cannot. */
export class EventReading implements Reading<StreamEvent> {
  readonly #events: AsyncGenerator<StreamEvent, void, undefined>;
  readonly #cancel: Cancel;
  #isLeft = false;

  /** @param cancel ends what the generator waits for; released when it has ended */
  constructor(events: AsyncGenerator<StreamEvent, void, undefined>, cancel: Cancel) {
    this.#events = events;
    this.#cancel = cancel;
  }

  async next(): Promise<IteratorResult<StreamEvent, void>> {
    try {
      const result = await this.#events.next();
      if (result.done) this.#cancel.release();
      return result;
    } catch (error) {
      this.#cancel.release();
      if (this.#isLeft) return { done: true, value: undefined };
      throw error;
    }
  }

  async return(): Promise<IteratorResult<StreamEvent, void>> {
    this.#isLeft = true;
    this.#cancel.abort(new Error("The reading was left"));
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
