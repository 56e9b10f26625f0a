import { sourceOfId, type StoredFrame } from "../frame/mod.ts";

const ADDRESSES = 256;
const PGNS = 0x40000;

/**
 * Accepts the first recorded frame of each bus, source and PGN in each interval: intervals are those since 1970, and do not
 * restart when the clock steps back.
 */
export class FirstOfInterval {
  readonly #intervalUs: number;
  /** Newest interval with an accepted frame, by bus, source and PGN. */
  readonly #spans = new Map<number, number>();
  /** Stable numbers of bus names: blocks may index buses differently. */
  readonly #busNumbers = new Map<string, number>();
  #busKeys: readonly number[] = [];

  /**
   * Begins without frames.
   *
   * @param intervalUs length of an interval, microseconds
   */
  constructor(intervalUs: number) {
    this.#intervalUs = intervalUs;
  }

  /** Begins a block. `buses`: names by index. */
  enter(buses: readonly string[]): void {
    this.#busKeys = buses.map((name) => this.#numberOf(name));
  }

  /** Whether a frame is the first of its interval. Call it at most once a frame, in order. */
  accepts({ bus, id, pgn, timeUs }: StoredFrame): boolean {
    const span = Math.floor(timeUs / this.#intervalUs);
    const key = (((this.#busKeys[bus] ?? 0) * ADDRESSES) + sourceOfId(id)) * PGNS + pgn;
    if (span <= (this.#spans.get(key) ?? -Infinity)) return false;
    this.#spans.set(key, span);
    return true;
  }

  #numberOf(bus: string): number {
    const number = this.#busNumbers.get(bus) ?? this.#busNumbers.size;
    this.#busNumbers.set(bus, number);
    return number;
  }
}
