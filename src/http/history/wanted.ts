import { busText } from "../../broker/mod.ts";
import type { Filter } from "../../filter/mod.ts";
import { sourceOfId, type StoredFrame } from "../../frame/mod.ts";
import type { Block } from "../../journal/mod.ts";
import { RecordedFilter } from "../../stream/mod.ts";
import type { HistoryRange } from "./query.ts";

const ADDRESSES = 256;

/** Decides frame by frame, block by block. */
export class WantedFrames {
  readonly range: HistoryRange;
  readonly #filter: RecordedFilter;
  /** Buses of the server: what a block's indexes mean when it does not say. */
  readonly #buses: readonly string[];
  readonly #sources: Uint8Array | undefined;
  readonly #intervalUs: number | undefined;
  /** Newest span of time a frame was taken of, by bus, source and PGN. */
  readonly #spans = new Map<number, number>();
  /** Numbers of bus names, as blocks may count buses differently. */
  readonly #busNumbers = new Map<string, number>();
  #busTexts: readonly string[] = [];
  #busKeys: readonly number[] = [];
  #taken = 0;

  constructor(
    filter: Filter,
    options: HistoryRange & { buses: readonly string[]; src?: number[] | undefined; interval?: number | undefined },
  ) {
    this.range = options;
    this.#filter = new RecordedFilter(filter, { separateBlocks: true });
    this.#buses = options.buses;
    this.#intervalUs = options.interval;
    if (!options.src) return;
    this.#sources = new Uint8Array(ADDRESSES);
    for (const src of options.src) this.#sources[src] = 1;
  }

  /** True when as many frames were taken as may be. */
  get isFull(): boolean {
    return this.#taken >= this.range.limit;
  }

  /** The next frames are this block's: its buses, and who had which address then. */
  enter(block: Block): void {
    const names = block.notes.buses ?? this.#buses;
    this.#filter.enter(names, block.devices);
    this.#busTexts = names.map((name) => busText(name, { buses: this.#buses.length }));
    this.#busKeys = names.map((name) => this.#numberOf(name));
  }

  /** What the JSON of a frame of this block says of its bus. */
  busText(bus: number): string {
    return this.#busTexts[bus] ?? "";
  }

  /** Whether only the first frames of spans of time are wanted: which those are is told by the frames before. */
  get hasInterval(): boolean {
    return this.#intervalUs !== undefined;
  }

  /** Takes a frame, or does not. `at` is its index in the block. */
  takes(frame: StoredFrame, at: number): boolean {
    if (!this.matches(frame, at)) return false;
    this.#taken++;
    return true;
  }

  /** Whether a frame is wanted, the limit aside. Of the frames that are looked at each is looked at once, in order. */
  matches(frame: StoredFrame, at: number): boolean {
    if (!this.#filter.accepts(frame, at)) return false;
    const { fromUs, toUs } = this.range;
    if (frame.timeUs < fromUs || frame.timeUs > toUs) return false;
    const src = sourceOfId(frame.id);
    return this.#sources?.[src] !== 0 && this.#isFirst(frame, src);
  }

  /** True for the first frame of its span. Where the clock stepped back, spans that were passed are not begun anew. */
  #isFirst({ bus, pgn, timeUs }: StoredFrame, src: number): boolean {
    if (this.#intervalUs === undefined) return true;
    const span = Math.floor(timeUs / this.#intervalUs);
    const key = (((this.#busKeys[bus] ?? 0) * ADDRESSES) + src) * 0x40000 + pgn;
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
