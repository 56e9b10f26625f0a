import { busText } from "../../broker/mod.ts";
import type { Filter } from "../../filter/mod.ts";
import { sourceOfId, type StoredFrame } from "../../frame/mod.ts";
import type { Block } from "../../journal/mod.ts";
import { RecordedFilter } from "../../stream/mod.ts";
import type { HistoryRange } from "./query.ts";

const ADDRESSES = 256;

/** Selects the frames of a history request, block by block. */
export class WantedFrames {
  readonly range: HistoryRange;
  readonly #filter: RecordedFilter;
  /** Bus names of the server, for blocks without bus names of their own. */
  readonly #buses: readonly string[];
  readonly #sources: Uint8Array | undefined;
  readonly #intervalUs: number | undefined;
  /** Newest interval with an accepted frame, by bus, source and PGN. */
  readonly #spans = new Map<number, number>();
  /** Stable numbers of bus names: blocks may index buses differently. */
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

  /** True when the limit is reached. */
  get isFull(): boolean {
    return this.#taken >= this.range.limit;
  }

  /** Begins a block: sets up its buses and its device addresses. */
  enter(block: Block): void {
    const names = block.notes.buses ?? this.#buses;
    this.#filter.enter(names, block.devices);
    this.#busTexts = names.map((name) => busText(name, { buses: this.#buses.length }));
    this.#busKeys = names.map((name) => this.#numberOf(name));
  }

  /** The bus member of a frame's JSON in this block. */
  busText(bus: number): string {
    return this.#busTexts[bus] ?? "";
  }

  /** True if only the first frame of each interval is wanted, which depends on the frames before. */
  get hasInterval(): boolean {
    return this.#intervalUs !== undefined;
  }

  /** Accepts or rejects a frame, and counts it. `at` is its index in the block. */
  takes(frame: StoredFrame, at: number): boolean {
    if (!this.matches(frame, at)) return false;
    this.#taken++;
    return true;
  }

  /** True if a frame is wanted, regardless of the limit. Call it at most once a frame, in order. */
  matches(frame: StoredFrame, at: number): boolean {
    if (!this.#filter.accepts(frame, at)) return false;
    const { fromUs, toUs } = this.range;
    if (frame.timeUs < fromUs || frame.timeUs > toUs) return false;
    const src = sourceOfId(frame.id);
    return this.#sources?.[src] !== 0 && this.#isFirst(frame, src);
  }

  /** True for the first frame of its interval. Intervals do not restart when the clock steps back. */
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
