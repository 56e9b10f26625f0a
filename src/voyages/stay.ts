import { type Entry, isCircling, isSpot, placeOf, restsAt, type Spot } from "./entry.ts";
import { Extent, offsetM, type Position } from "./geo.ts";
import { type StayKind, StayKinds } from "./stay_kind.ts";
import {
  CIRCLING_MPS,
  LEAVING_MS,
  SLOT_MS,
  SPREAD_SLOTS,
  STAY_EXTENT_M,
  STAY_MEMORY_MS,
  STAY_MS,
} from "./thresholds.ts";

/** Number of positions that a new one is compared with. */
const MEMORY = STAY_MEMORY_MS / SLOT_MS;
/** Slots that are kept at most, those without a position included. */
const MAX_KEPT = 4 * MEMORY;
/** Positions that tell how a boat lies. */
const MIN_PLACE_SPOTS = 10;

/** A slot of a stay, and its offset from where the stay began, metres. */
interface Kept {
  entry: Entry;
  x: number;
  y: number;
}

/** A boat that stays where it is. Keeps the slots of the last hour. */
export class Stay {
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly #origin: Position;
  #kept: Kept[] = [];
  /** Number of kept slots with a position. */
  #spots = 0;
  /** Around the kept positions, and some that were kept before; undefined: to be made again. */
  #extent: Extent | undefined;
  /** Positions that were dropped since it was made. */
  #dropped = 0;
  /** Number of the first kept slots that are in the figures. */
  #counted = 0;
  readonly #kinds = new StayKinds();

  /** @param options.rest as in {@linkcode Stay.resume} */
  constructor(
    entries: readonly [Spot, ...Entry[]],
    { startMs, rest }: { startMs: number; rest?: number | undefined },
  ) {
    this.startMs = startMs;
    this.#origin = entries[0].slot.fix;
    this.resume(entries, { rest });
  }

  /** The newest slot with a position. */
  get last(): Spot | undefined {
    const kept = this.#kept.findLast(({ entry }) => isSpot(entry));
    return isSpot(kept?.entry) ? kept.entry : undefined;
  }

  /** End of the newest slot with a position, milliseconds since 1970. */
  get endMs(): number {
    return (this.last?.slot.startMs ?? this.startMs) + SLOT_MS;
  }

  /** Adds a slot. Returns false, and does not add it, if the boat is under way. */
  join(entry: Entry): boolean {
    if (isSpot(entry) && (!this.isNear(entry) || this.#isCircling(entry))) return false;
    this.#add(entry);
    return true;
  }

  /** True if a position is one of a boat that has stayed. */
  isNear({ slot: { fix } }: Spot): boolean {
    const { x, y } = offsetM(this.#origin, fix);
    return (this.#extent ??= this.#newExtent()).widthWith(x, y) <= STAY_EXTENT_M;
  }

  /**
   * Adds slots, wherever they are.
   *
   * @param options.rest index of the first one that later positions are compared with; default: with those before, too
   */
  resume(entries: readonly Entry[], { rest }: { rest?: number | undefined } = {}): void {
    for (const [i, entry] of entries.entries()) {
      if (i === rest) this.#forget();
      this.#add(entry);
    }
  }

  /**
   * The boat leaves. Returns its slots from the last one at rest on; all but the first of them are removed.
   *
   * @param entry the slot that could not join; it is the last one of the result
   */
  leave(entry: Spot): [Entry, ...Entry[]] {
    const beforeMs = this.isNear(entry) ? STAY_MS + LEAVING_MS : LEAVING_MS;
    const entries = this.#kept.map((each) => each.entry);
    const lay = entries.filter(({ slot }) => slot.startMs < entry.slot.startMs - beforeMs);
    const half = entries.slice(0, Math.ceil(entries.length / 2));
    const place = placeOf(lay.filter(isSpot).length < MIN_PLACE_SPOTS ? half : lay);
    const found = place ? entries.findLastIndex((each) => restsAt(place, each)) : -1;
    const last = Math.max(found, this.#counted - 1, 0);
    this.#kept.length = last + 1;
    this.#spots = this.#kept.filter((each) => isSpot(each.entry)).length;
    this.#extent = undefined;
    const [first = entry, ...rest] = entries.slice(last);
    return [first, ...rest, entry];
  }

  /** What it was. No slot may be added after this. */
  kind(): StayKind {
    this.#count(Infinity);
    return this.#kinds.result(this.#origin);
  }

  #add(entry: Entry): void {
    const { x, y } = isSpot(entry) ? offsetM(this.#origin, entry.slot.fix) : { x: 0, y: 0 };
    this.#kept.push({ entry, x, y });
    if (isSpot(entry)) {
      this.#spots++;
      this.#extent?.add(x, y);
    }
    this.#count(entry.slot.startMs - LEAVING_MS);
    while (this.#counted > 0 && (this.#spots > MEMORY || this.#kept.length > MAX_KEPT)) this.#drop();
  }

  #drop(): void {
    const dropped = this.#kept.shift();
    this.#counted--;
    if (!dropped || !isSpot(dropped.entry)) return;
    this.#spots--;
    if (++this.#dropped >= SPREAD_SLOTS) this.#extent = undefined;
  }

  /** Adds slots before a time to the figures. */
  #count(beforeMs: number): void {
    for (; this.#counted < this.#kept.length; this.#counted++) {
      const kept = this.#kept[this.#counted];
      if (!kept || kept.entry.slot.startMs >= beforeMs) return;
      if (isSpot(kept.entry)) this.#kinds.add(kept.entry.slot, kept);
    }
  }

  #forget(): void {
    this.#count(Infinity);
    this.#kept = [];
    this.#spots = this.#counted = 0;
    this.#extent = undefined;
  }

  #newExtent(): Extent {
    const extent = new Extent();
    this.#dropped = 0;
    for (const { entry, x, y } of this.#kept) if (isSpot(entry)) extent.add(x, y);
    return extent;
  }

  #isCircling(entry: Spot): boolean {
    if (entry.speedMps <= CIRCLING_MPS) return false;
    const fromMs = entry.slot.startMs - STAY_MS;
    const before = this.#kept.flatMap((each) => each.entry.slot.startMs >= fromMs ? each.entry : []);
    return before.length >= STAY_MS / SLOT_MS - 1 && isCircling([...before, entry]);
  }
}
