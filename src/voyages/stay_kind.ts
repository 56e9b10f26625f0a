import { Directions, moved, type Position } from "./geo.ts";
import type { Slot } from "./slots.ts";
import { PORT_HEADING_RAD, PORT_SPREAD_M, SPREAD_SLOTS } from "./thresholds.ts";

/** What a stay was. */
export interface StayKind {
  state: "at_anchor" | "in_port";
  /** Average. */
  position: Position;
}

/** Part of the slots that must have a heading for it to count. */
const HEADING_PART = 0.5;

/** Tells a boat at anchor, which swings and yaws, from one in port. */
export class StayKinds {
  #spots = 0;
  /** Sums of the positions since the last average. */
  readonly #part = { x: 0, y: 0, count: 0 };
  /** Sums of the averages, and of their squares. */
  readonly #sum = { x: 0, y: 0, squares: 0, count: 0 };
  readonly #yaw = new Directions();

  /** Adds a slot with a position, given as an offset from a position of the stay, metres. */
  add({ headingRad }: Slot, { x, y }: { x: number; y: number }): void {
    this.#spots++;
    this.#part.x += x;
    this.#part.y += y;
    if (++this.#part.count === SPREAD_SLOTS) this.#endPart();
    if (headingRad !== undefined) this.#yaw.add(headingRad);
  }

  /** @param origin the position that offsets are from */
  result(origin: Position): StayKind {
    if (this.#part.count > 0) this.#endPart();
    const { x, y, squares, count } = this.#sum;
    const [meanX, meanY] = count === 0 ? [0, 0] : [x / count, y / count];
    const spreadM = count === 0 ? 0 : Math.sqrt(Math.max(0, squares / count - meanX ** 2 - meanY ** 2));
    const isStill = spreadM <= PORT_SPREAD_M && !this.#yaws();
    return { state: isStill ? "in_port" : "at_anchor", position: moved(origin, { x: meanX, y: meanY }) };
  }

  #endPart(): void {
    const { x, y, count } = this.#part;
    const [meanX, meanY] = [x / count, y / count];
    this.#sum.x += meanX;
    this.#sum.y += meanY;
    this.#sum.squares += meanX ** 2 + meanY ** 2;
    this.#sum.count++;
    Object.assign(this.#part, { x: 0, y: 0, count: 0 });
  }

  #yaws(): boolean {
    const { count, deviation } = this.#yaw;
    return count > HEADING_PART * this.#spots && deviation > PORT_HEADING_RAD;
  }
}
