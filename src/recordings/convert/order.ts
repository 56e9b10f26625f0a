import type { Message } from "../../frame/mod.ts";

/** How much earlier than the newest message one may be and still take its place; earlier ones are of a clock set back. */
export const ORDER_WINDOW_US = 1e6;
/** Messages held for that at most; a bus carries fewer than 2000 a second. */
const MAX_HELD = 8192;

/**
 * Puts messages in the order of their times, which recorders with several inputs do not keep: each time that goes back
 * would cost a block of its own. Messages of the same time stay as they came. A clock that was set back stays visible.
 */
export class TimeOrder {
  readonly #emit: (message: Message) => void;
  readonly #held: Message[] = [];

  /** @param emit gets each message; those that are held, {@linkcode flush} hands over */
  constructor(emit: (message: Message) => void) {
    this.#emit = emit;
  }

  /** Takes a message, which is to be an object of its own. */
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

  /** Hands over what is held. */
  flush(): void {
    this.#release(this.#held.length);
  }

  #release(count: number): void {
    for (const message of this.#held.splice(0, count)) this.#emit(message);
  }
}
