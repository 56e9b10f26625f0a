import type { Decoder } from "../broker/mod.ts";
import { addressKey, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { ActiveDevices, type Block, type BlockDevice } from "../journal/mod.ts";
import type { Decoded } from "../pgn/mod.ts";
import { type BucketBudget, SeriesCountError } from "./budget.ts";
import { keyFieldsOf, type SeriesField } from "./fields.ts";
import { Series, type SeriesOrigin } from "./series.ts";

/** Options of a {@linkcode SeriesFold}. */
export interface SeriesFoldOptions {
  /** Wanted fields. */
  fields: readonly SeriesField[];
  /** Width of a bucket, milliseconds. */
  bucketMs: number;
  /** Names of buses by index, for blocks that do not name theirs. */
  buses: readonly string[];
  decoder: Pick<Decoder, "decode">;
  /** Wanted source addresses; default all. */
  sources?: ReadonlySet<number> | undefined;
  /** Most series, of all fields together; default no limit. */
  maxSeries?: number;
  /** Counts series and buckets; default no limit. */
  budget?: BucketBudget | undefined;
}

/** The fields of one PGN of one sensor. Their values come in the same frames. */
interface Group {
  key: string;
  origin: SeriesOrigin;
  series: readonly Series[];
}

/** Sorts the values of frames into buckets, block by block. */
export class SeriesFold {
  readonly #options: SeriesFoldOptions;
  readonly #fields: ReadonlyMap<number, readonly SeriesField[]>;
  readonly #groups = new Map<string, Group>();
  readonly #bucketUs: number;
  #count = 0;
  /** Names of the buses of the current block. */
  #buses: readonly string[] = [];
  /** Devices of the current block, and the NAMEs of its addresses so far. */
  #devices = new ActiveDevices([]);
  readonly #names = new Map<number, bigint>();
  readonly #setName = ({ bus, src, name }: BlockDevice) => void this.#names.set(addressKey(bus, src), name);

  constructor(options: SeriesFoldOptions) {
    this.#options = options;
    this.#fields = Map.groupBy(options.fields, ({ pgn }) => pgn);
    this.#bucketUs = options.bucketMs * 1000;
  }

  /** Groups of fields, each of one PGN and one sensor. */
  get groups(): MapIterator<Group> {
    return this.#groups.values();
  }

  /** Number of buckets, counted at each call. */
  get bucketCount(): number {
    return this.series().reduce((sum, { buckets }) => sum + buckets.size, 0);
  }

  /** True if another fold can be merged within the limit of series. */
  hasRoomFor({ groups }: SeriesFold): boolean {
    const added = groups.reduce((sum, { key, series }) => this.#groups.has(key) ? sum : sum + series.length, 0);
    return this.#count + added <= (this.#options.maxSeries ?? Infinity);
  }

  /** All series so far. */
  *series(): Generator<Series> {
    for (const { series } of this.#groups.values()) yield* series;
  }

  /**
   * Adds the values of another fold of the same options, which were recorded after these. Call
   * {@linkcode SeriesFold.hasRoomFor} before.
   */
  merge({ groups }: SeriesFold): void {
    for (const { key, origin, series } of groups) {
      const own = this.#groups.get(key) ?? this.#begin(key, origin, series.map(({ field }) => field));
      for (const [i, { buckets }] of series.entries()) {
        for (const [start, bucket] of buckets) own.series[i]?.at(start).merge(bucket);
      }
    }
  }

  /** Begins a block. Only its own device table is used, so that results do not depend on where reading began. */
  enter(block: Pick<Block, "metadata" | "devices">): void {
    this.#buses = block.metadata.buses ?? this.#options.buses;
    this.#names.clear();
    this.#devices = new ActiveDevices(block.devices);
  }

  /**
   * Adds the values of a frame. `index` is that of the frame in its block.
   *
   * @throws {SeriesCountError} there are too many series or buckets
   */
  add(frame: StoredFrame, index: number): void {
    const fields = this.#fields.get(frame.pgn);
    if (fields === undefined) return;
    const src = sourceOfId(frame.id);
    const { sources, decoder } = this.#options;
    if (sources && !sources.has(src)) return;
    const { data, offset, length, timeUs } = frame;
    const decoded = decoder.decode(frame.pgn, data.subarray(offset, offset + length));
    if (decoded === undefined) return;
    this.#devices.advance(index, this.#setName);
    const { series } = this.#groupOf(decoded, { frame, src, fields });
    const start = Math.floor(timeUs / this.#bucketUs);
    for (const each of series) {
      const value = decoded[each.field.name];
      if (value === undefined || value === null) continue;
      // Another layout of the PGN may have another type of field under this name.
      if (each.field.kind === "label" || typeof value === "number") each.at(start).add(value, each.field, timeUs);
    }
  }

  #groupOf(
    decoded: Decoded,
    { frame: { bus, pgn }, src, fields }: { frame: StoredFrame; src: number; fields: readonly SeriesField[] },
  ): Group {
    const name = this.#names.get(addressKey(bus, src)) ?? 0n;
    const busName = this.#buses[bus] ?? "";
    let key = `${pgn} ${src} ${name} ${busName}`;
    const keyNames = keyFieldsOf(pgn);
    for (const each of keyNames) key += ` ${decoded[each]}`;
    const known = this.#groups.get(key);
    if (known) return known;
    const keys: Record<string, number | string> = {};
    for (const each of keyNames) {
      const value = decoded[each];
      if (typeof value === "number" || typeof value === "string") keys[each] = value;
    }
    return this.#begin(key, { bus: busName, src, name, keys }, fields);
  }

  #begin(key: string, origin: SeriesOrigin, fields: readonly SeriesField[]): Group {
    const { maxSeries = Infinity, budget } = this.#options;
    this.#count += fields.length;
    if (this.#count > maxSeries) throw new SeriesCountError(`more than ${maxSeries} series`);
    const group = { key, origin, series: fields.map((field) => new Series(field, { origin, budget })) };
    this.#groups.set(key, group);
    return group;
  }
}
