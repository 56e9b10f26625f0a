import type { Message } from "../../frame/mod.ts";

/** Messages are sorted within this time; a larger step back means that the clock was set. */
export const ORDER_WINDOW_US = 1e6;
/** Maximum number of waiting messages; a bus carries fewer than 2000 per second. */
const MAX_HELD = 8192;

/**
 * Sorts messages by time, because recorders with several inputs do not: each step back would begin a new block. The sort is
 * stable. A clock that was set back remains visible.
 */
export class TimeOrder {
  readonly #emit: (message: Message) => void;
  readonly #held: Message[] = [];

  /** @param emit gets the sorted messages */
  constructor(emit: (message: Message) => void) {
    this.#emit = emit;
  }

  /** Adds a message; the object must not be reused. */
  add(message: Message): void {
    const held = this.#held;
    const newest = held.at(-1)?.timeUs ?? -Infinity;
    if (message.timeUs < newest - ORDER_WINDOW_US) this.flush();
    let at = held.length;
    while (at > 0 && (held[at - 1]?.timeUs ?? 0) > message.timeUs) at--;
    if (at === held.length) held.push(message);
    else held.splice(at, 0, message);
    const dueUs = (held.at(-1)?.timeUs ?? 0) - ORDER_WINDOW_US;
    let due = held.length > MAX_HELD ? 1 : 0;
    while ((held[due]?.timeUs ?? Infinity) < dueUs) due++;
    if (due > 0) this.#release(due);
  }

  /** Emits all waiting messages. */
  flush(): void {
    this.#release(this.#held.length);
  }

  #release(count: number): void {
    for (const message of this.#held.splice(0, count)) this.#emit(message);
  }
}
