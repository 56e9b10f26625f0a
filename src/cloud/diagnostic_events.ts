/** What is noted of a boat's replication. */
export type DiagnosticEventType =
  | "live_start"
  | "live_stop"
  | "backfill_start"
  | "backfill_stop"
  | "block_received"
  | "checkpoint";

/** Something that happened. */
export interface DiagnosticEvent {
  /** Milliseconds since 1970. */
  timeMs: number;
  type: DiagnosticEventType;
  /** For people. */
  detail: string;
}

/** Events that are kept of one boat. */
export const MAX_DIAGNOSTIC_EVENTS = 1024;

/** The newest events of one boat, in memory that grows with them. */
export class DiagnosticEvents {
  readonly #capacity: number;
  readonly #events: DiagnosticEvent[] = [];
  /** Where the oldest one is when all room is used. */
  #oldest = 0;

  /** @param capacity events that are kept, default {@linkcode MAX_DIAGNOSTIC_EVENTS} */
  constructor(capacity: number = MAX_DIAGNOSTIC_EVENTS) {
    this.#capacity = capacity;
  }

  /** How many are kept. */
  get size(): number {
    return this.#events.length;
  }

  /** Notes one; the oldest goes when there are too many. */
  add(event: DiagnosticEvent): void {
    if (this.#events.length < this.#capacity) this.#events.push(event);
    else {
      this.#events[this.#oldest] = event;
      this.#oldest = (this.#oldest + 1) % this.#capacity;
    }
  }

  /** The newest ones, newest first, at most `limit`. */
  list(limit: number = this.#capacity): DiagnosticEvent[] {
    const inOrder = [...this.#events.slice(this.#oldest), ...this.#events.slice(0, this.#oldest)];
    return inOrder.slice(Math.max(0, inOrder.length - limit)).reverse();
  }
}
