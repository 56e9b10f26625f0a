import { setImmediate } from "node:timers";
import type { Message } from "../frame/mod.ts";

/** A message and its place among all of the turn. */
interface Held extends Message {
  place: number;
}

/** Message objects that are kept for reuse between turns. */
const MAX_SPARE = 4096;

/**
 * Puts what several buses deliver in one turn of the event loop in order of time before it is numbered. Messages of one
 * bus, and those of the same time, stay in the order in which they came. Messages are copied, as buses reuse theirs.
 */
export class ArrivalOrder {
  readonly #take: (message: Message) => void;
  readonly #schedule: (run: () => void) => void;
  /** By bus. */
  #held: Held[][];
  #spare: Held[] = [];
  #added = 0;
  #isScheduled = false;

  /**
   * @param take gets each message, in order; must not throw
   * @param options.buses how many buses there are
   * @param options.schedule runs a function at the end of the turn; for tests
   */
  constructor(
    take: (message: Message) => void,
    { buses, schedule = (run) => void setImmediate(run) }: { buses: number; schedule?: (run: () => void) => void },
  ) {
    this.#take = take;
    this.#schedule = schedule;
    this.#held = Array.from({ length: buses }, () => []);
  }

  /** Takes a message of any bus; its bytes are copied. */
  add(message: Message): void {
    this.#held[message.bus]?.push(this.#copyOf(message));
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.flush());
  }

  /** Hands over everything now. */
  flush(): void {
    this.#isScheduled = false;
    this.#added = 0;
    const held = this.#held;
    // What is added meanwhile belongs to the next turn.
    this.#held = held.map(() => []);
    const next = held.map(() => 0);
    for (let bus = earliest(held, next); bus >= 0; bus = earliest(held, next)) {
      const message = held[bus]?.[next[bus] ?? 0];
      next[bus] = (next[bus] ?? 0) + 1;
      if (!message) continue;
      this.#take(message);
      if (this.#spare.length < MAX_SPARE) this.#spare.push(message);
    }
  }

  #copyOf({ id, pgn, bus, timeUs, monoMs, data, offset, length }: Message): Held {
    const place = this.#added++;
    const bytes = data.subarray(offset, offset + length);
    const spare = this.#spare.pop();
    if (!spare || spare.data.length < length) {
      return { id, pgn, bus, timeUs, monoMs, data: bytes.slice(), offset: 0, length, place };
    }
    spare.data.set(bytes);
    return Object.assign(spare, { id, pgn, bus, timeUs, monoMs, length, place });
  }
}

/** The bus whose next message came first; -1 where none is left. */
function earliest(held: readonly (readonly Held[])[], next: readonly number[]): number {
  let first: Held | undefined;
  for (const [bus, messages] of held.entries()) {
    const each = messages[next[bus] ?? 0];
    if (each && (!first || each.monoMs < first.monoMs || (each.monoMs === first.monoMs && each.place < first.place))) {
      first = each;
    }
  }
  return first?.bus ?? -1;
}
