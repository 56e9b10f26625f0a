import { byCredibility, Timeline } from "./timeline.ts";

/** Most timelines of one source and PGN: what it reported before and after a start, and outliers. */
const MAX_TIMELINES = 4;

/** What one source tells by one PGN: a timeline, and a new one at each jump of the reported time. */
export class TimeStream {
  readonly source: string;
  readonly pgn: number;
  /** The one of the newest reading is the first. */
  #timelines: Timeline[] = [];
  #lastMs = -Infinity;

  constructor(source: string, pgn: number) {
    this.source = source;
    this.pgn = pgn;
  }

  get lastMs(): number {
    return this.#lastMs;
  }

  /** True if one of its timelines is settled. */
  get isSettled(): boolean {
    return this.#timelines.some(({ isSettled }) => isSettled);
  }

  /** Adds a reading; one that is earlier than the last is ignored. */
  add(monoMs: number, reportedUs: number): void {
    if (monoMs < this.#lastMs) return;
    this.#lastMs = monoMs;
    const accepting = this.#timelines.filter((each) => each.accepts(monoMs, reportedUs));
    const fitting = accepting.find((each) => each.isConfirmed) ?? accepting[0];
    fitting?.add(monoMs, reportedUs);
    // Late readings are single: those between readings in time never last. A jump is not taken back.
    const others = this.#timelines.filter((each) => each !== fitting && (each.isConfirmed || !fitting?.isConfirmed));
    if (!fitting && others.length === MAX_TIMELINES) others.sort(byCredibility).pop();
    this.#timelines = [fitting ?? new Timeline(monoMs, reportedUs), ...others];
  }

  /** The timeline to believe: of those that `isPlausible`, if there is one, the most credible. */
  best(isPlausible: (timeline: Timeline) => boolean): Timeline | undefined {
    const confirmed = this.#timelines.filter((each) => each.isConfirmed).sort(byCredibility);
    return confirmed.find(isPlausible) ?? confirmed[0];
  }
}
