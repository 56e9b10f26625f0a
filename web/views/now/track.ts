import { isPosition, lengthOf, type Position, vectorBetween } from "./geometry.ts";

/** How much of the own track is shown, milliseconds. */
export const TRACK_MS = 1_800_000;
/** Points are at least this far apart. */
const MIN_STEP_M = 5;
const MAX_POINTS = 1500;

interface Point {
  readonly position: Position;
  readonly timeMs: number;
}

/** Positions of the last minutes. */
export class Track {
  #points: Point[] = [];

  /** The positions, oldest first. */
  get positions(): Position[] {
    return this.#points.map(({ position }) => position);
  }

  /** Adds a position; one that is older than the newest, or close to it, is left out. */
  add(position: Position, timeMs: number): void {
    // The boat's clock was set back.
    if ((this.#points.at(-1)?.timeMs ?? 0) - timeMs > TRACK_MS) this.#points = [];
    const last = this.#points.at(-1);
    if (!isPosition(position) || (last && timeMs <= last.timeMs)) return;
    if (last && lengthOf(vectorBetween(last.position, position)) < MIN_STEP_M) return;
    this.#points.push({ position, timeMs });
    const tooMany = this.#points.length - MAX_POINTS;
    const fresh = this.#points.findIndex((each) => timeMs - each.timeMs <= TRACK_MS);
    if (fresh > 0 || tooMany > 0) this.#points.splice(0, Math.max(fresh, tooMany));
  }

  /** Puts recorded positions before those that were received. */
  prepend(recorded: readonly Point[]): void {
    const firstMs = this.#points[0]?.timeMs ?? Infinity;
    const received = this.#points;
    this.#points = [];
    for (const each of recorded) if (each.timeMs < firstMs) this.add(each.position, each.timeMs);
    for (const each of received) this.add(each.position, each.timeMs);
  }
}
