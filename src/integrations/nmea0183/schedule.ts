import type { SentenceRow } from "./sentence.ts";

/** A sentence and how often it is sent. */
export interface SentenceInterval {
  readonly row: SentenceRow;
  readonly everyMs: number;
}

/** When which sentence is due. Pure: times are parameters. */
export class Schedule {
  readonly #entries: { row: SentenceRow; everyMs: number; dueMs: number }[];

  constructor(sentences: readonly SentenceInterval[]) {
    this.#entries = sentences.map(({ row, everyMs }) => ({ row, everyMs, dueMs: -Infinity }));
  }

  /** The sentences that are due, in order. One that was missed is sent once, not caught up. */
  due(nowMs: number): SentenceRow[] {
    const due = this.#entries.filter(({ dueMs }) => nowMs >= dueMs);
    for (const entry of due) {
      const nextMs = entry.dueMs + entry.everyMs;
      entry.dueMs = nextMs > nowMs ? nextMs : nowMs + entry.everyMs;
    }
    return due.map(({ row }) => row);
  }
}
