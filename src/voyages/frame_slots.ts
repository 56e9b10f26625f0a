import type { StoredFrame } from "../frame/mod.ts";
import type { Decoded } from "../pgn/mod.ts";
import { SeriesFold } from "../series/mod.ts";
import { type Slot, slotsOf, voyageFields } from "./slots.ts";
import { SLOT_MS } from "./thresholds.ts";

/** Decodes payloads: `decode` of the package's `./pgn`. */
export interface PayloadDecoder {
  /** The fields of a payload; undefined if it is not known. */
  decode(pgn: number, payload: Uint8Array): Decoded | undefined;
}

/** Frames that are folded together, microseconds. */
const PART_US = 24 * 3_600_000_000;
/** Parts that get frames at the same time: frames may be out of order by some hours. */
const MAX_OPEN_PARTS = 2;

/**
 * Makes slots of frames. Frames may come in any order of days, and several times; within a day, of those that are out of order
 * by more than a day the first ones count.
 */
export class FrameSlots {
  readonly #decoder: PayloadDecoder;
  readonly #fields = voyageFields();
  readonly #pgns = new Set(this.#fields.map(({ pgn }) => pgn));
  readonly #slots = new Map<number, Slot>();
  /** Open parts by number, the newest last. */
  readonly #parts = new Map<number, SeriesFold>();
  #buses: readonly string[] = [];
  #current: { part: number; fold: SeriesFold } | undefined;

  constructor(decoder: PayloadDecoder) {
    this.#decoder = decoder;
  }

  /** Begins frames of buses with these names, by index. */
  enter(buses: readonly string[]): void {
    if (buses.length === this.#buses.length && buses.every((bus, i) => bus === this.#buses[i])) return;
    this.#buses = buses;
    this.#current = undefined;
  }

  /** Adds a frame. */
  add(frame: StoredFrame): void {
    if (!this.#pgns.has(frame.pgn)) return;
    const part = Math.floor(frame.timeUs / PART_US);
    if (this.#current?.part !== part) this.#current = { part, fold: this.#open(part) };
    this.#current.fold.add(frame, 0);
  }

  /** All slots, in the order of time. No frame may be added after this. */
  *slots(): Generator<Slot, void> {
    for (const fold of this.#parts.values()) this.#keep(fold);
    const starts = [...this.#slots.keys()].sort((a, b) => a - b);
    for (const start of starts) {
      const slot = this.#slots.get(start);
      if (slot) yield slot;
    }
  }

  #open(part: number): SeriesFold {
    const known = this.#parts.get(part);
    const fold = known ??
      new SeriesFold({ fields: this.#fields, bucketMs: SLOT_MS, buses: [], decoder: this.#decoder });
    fold.enter({ metadata: { buses: this.#buses }, devices: [] });
    this.#parts.delete(part);
    this.#parts.set(part, fold);
    const [oldest] = this.#parts;
    if (oldest && this.#parts.size > MAX_OPEN_PARTS) {
      this.#parts.delete(oldest[0]);
      this.#keep(oldest[1]);
    }
    return fold;
  }

  #keep(fold: SeriesFold): void {
    for (const slot of slotsOf(fold.series())) {
      if (!this.#slots.has(slot.startMs)) this.#slots.set(slot.startMs, slot);
    }
  }
}
