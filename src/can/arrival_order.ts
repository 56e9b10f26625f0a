import { setImmediate } from "node:timers";
import type { Message } from "../frame/mod.ts";

/** A copied message and its index in the order of arrival. */
interface QueuedMessage extends Message {
  arrivalIndex: number;
}

/** Queued messages from which on buses that can wait do so: what is queued is not in the journal's backlog yet. */
export const MAX_QUEUED = 256;
/** Message objects kept for reuse between turns. */
const MAX_SPARE = 4096;

/**
 * Sorts the messages that several buses deliver in one turn of the event loop by time, before they are numbered. Messages
 * of one bus, and those with the same time, keep the order of arrival. Messages are copied, because buses reuse theirs.
 */
export class ArrivalOrder {
  readonly #emit: (message: Message) => void;
  readonly #schedule: (run: () => void) => void;
  /** By bus. */
  #queued: QueuedMessage[][];
  /** Messages of the turn that is being emitted, and how many of each bus have been. */
  #emitting: { queued: QueuedMessage[][]; next: number[] } = { queued: [], next: [] };
  #spare: QueuedMessage[] = [];
  #added = 0;
  #isScheduled = false;
  #flushed: PromiseWithResolvers<void> | undefined;

  /**
   * @param emit gets each message, in order; must not throw
   * @param options.buses number of buses
   * @param options.schedule runs a function at the end of the turn; for tests
   */
  constructor(
    emit: (message: Message) => void,
    { buses, schedule = (run) => void setImmediate(run) }: { buses: number; schedule?: (run: () => void) => void },
  ) {
    this.#emit = emit;
    this.#schedule = schedule;
    this.#queued = Array.from({ length: buses }, () => []);
  }

  /** Frames of a bus whose messages are not emitted yet. */
  waitingFrames(bus: number): number {
    const { queued, next } = this.#emitting;
    const waiting = [...this.#queued[bus] ?? [], ...(queued[bus] ?? []).slice(next[bus])];
    return waiting.reduce((sum, { frames = 1 }) => sum + frames, 0);
  }

  /** Back-pressure: resolves when the queued messages are emitted; undefined while there are few. */
  drained(): Promise<void> | undefined {
    if (this.#added < MAX_QUEUED) return undefined;
    this.#flushed ??= Promise.withResolvers();
    return this.#flushed.promise;
  }

  /** Adds a copy of a message. */
  add(message: Message): void {
    this.#queued[message.bus]?.push(this.#copyOf(message));
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.flush());
  }

  /** Emits all messages at once. */
  flush(): void {
    this.#isScheduled = false;
    this.#added = 0;
    const queued = this.#queued;
    // Messages added during this loop belong to the next turn.
    this.#queued = queued.map(() => []);
    const next = queued.map(() => 0);
    this.#emitting = { queued, next };
    for (let bus = busOfEarliest(queued, next); bus >= 0; bus = busOfEarliest(queued, next)) {
      const message = queued[bus]?.[next[bus] ?? 0];
      next[bus] = (next[bus] ?? 0) + 1;
      if (!message) continue;
      this.#emit(message);
      if (this.#spare.length < MAX_SPARE) this.#spare.push(message);
    }
    this.#emitting = { queued: [], next: [] };
    this.#flushed?.resolve();
    this.#flushed = undefined;
  }

  #copyOf({ id, pgn, bus, timeUs, monoMs, data, offset, length, frames = 1 }: Message): QueuedMessage {
    const arrivalIndex = this.#added++;
    const bytes = data.subarray(offset, offset + length);
    const spare = this.#spare.pop();
    if (!spare || spare.data.length < length) {
      return { id, pgn, bus, timeUs, monoMs, data: bytes.slice(), offset: 0, length, frames, arrivalIndex };
    }
    spare.data.set(bytes);
    return Object.assign(spare, { id, pgn, bus, timeUs, monoMs, length, frames, arrivalIndex });
  }
}

/** The bus with the earliest next message; -1 when none is left. */
function busOfEarliest(queued: readonly (readonly QueuedMessage[])[], next: readonly number[]): number {
  let first: QueuedMessage | undefined;
  for (const [bus, messages] of queued.entries()) {
    const each = messages[next[bus] ?? 0];
    if (
      each &&
      (!first || each.monoMs < first.monoMs || (each.monoMs === first.monoMs && each.arrivalIndex < first.arrivalIndex))
    ) {
      first = each;
    }
  }
  return first?.bus ?? -1;
}
