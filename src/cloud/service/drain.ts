import type { Clock } from "../../base/mod.ts";

/** Options of {@linkcode DrainSchedule}. */
export interface DrainScheduleOptions {
  /** Number of boats that are connected now. */
  boats: number;
  /** Time until the last one has been disconnected, milliseconds. */
  timeMs: number;
  clock: Clock;
  /** Random number from 0 (inclusive) to 1 (exclusive). */
  random: () => number;
}

/**
 * Part of the time in which no boat is disconnected: as long as the balancer has not noticed that the node is not ready, it
 * would send the boat here again.
 */
const NOTICE_PART = 1 / 4;

/** Which boats of a node are disconnected when: one after the other, in random order and spread evenly over the time. */
export class DrainSchedule<Boat> {
  readonly #options: DrainScheduleOptions;
  readonly #beginMs: number;
  readonly #endMs: number;
  readonly #ended = new Set<Boat>();

  /** The time begins now. */
  constructor(options: DrainScheduleOptions) {
    this.#options = options;
    const nowMs = options.clock.monoMs();
    this.#beginMs = nowMs + options.timeMs * NOTICE_PART;
    this.#endMs = nowMs + options.timeMs;
  }

  /** True once the time is over. */
  get isOver(): boolean {
    return this.#options.clock.monoMs() >= this.#endMs;
  }

  /** Those of the connected boats that are to be disconnected now. Each boat is returned once. */
  due(connected: Iterable<Boat>): Boat[] {
    const { boats, clock, random } = this.#options;
    const waiting = [...connected].filter((boat) => !this.#ended.has(boat));
    // Counted from what is left, so that boats that come late or leave by themselves change the pace of none.
    const left = Math.floor(boats * (this.#endMs - clock.monoMs()) / (this.#endMs - this.#beginMs));
    const due: Boat[] = [];
    while (waiting.length > Math.max(0, left)) due.push(...waiting.splice(Math.floor(random() * waiting.length), 1));
    for (const boat of due) this.#ended.add(boat);
    return due;
  }
}
