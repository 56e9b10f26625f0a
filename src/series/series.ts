import { Bucket } from "./bucket.ts";
import type { BucketBudget } from "./budget.ts";
import type { SeriesField } from "./fields.ts";
import type { Slices } from "./slices.ts";

/** The sensor that values come from. */
export interface SeriesOrigin {
  /** Name of the bus. */
  bus: string;
  /** Source address. */
  src: number;
  /** NAME of the device; 0 while it is unknown. */
  name: bigint;
  /** Fields that distinguish sensors in one device, with their values. */
  keys: Readonly<Record<string, number | string>>;
}

/** The values of one field of one sensor, in buckets. */
export class Series {
  readonly field: SeriesField;
  /** If the device changed its address, with the latest one. */
  origin: SeriesOrigin;
  /** By start time, as a number of bucket widths since 1970. */
  readonly buckets = new Map<number, Bucket>();
  readonly #budget: BucketBudget | undefined;
  #current: Bucket | undefined;
  #currentAt = NaN;

  /**
   * @param options.budget counts the series and its buckets; default no limit
   * @throws {SeriesCountError} there are too many
   */
  constructor(field: SeriesField, { origin, budget }: { origin: SeriesOrigin; budget?: BucketBudget | undefined }) {
    this.field = field;
    this.origin = origin;
    this.#budget = budget;
    budget?.addSeries();
  }

  /** The bucket at a start time. @throws {SeriesCountError} there are too many buckets */
  at(start: number): Bucket {
    if (start === this.#currentAt && this.#current) return this.#current;
    let bucket = this.buckets.get(start);
    if (bucket === undefined) {
      this.#budget?.addBucket();
      this.buckets.set(start, bucket = new Bucket());
    }
    this.#currentAt = start;
    return this.#current = bucket;
  }

  /** Merges a bucket, which belongs to the series afterwards. @throws {SeriesCountError} there are too many buckets */
  put(start: number, bucket: Bucket): void {
    if (this.buckets.has(start)) return this.at(start).merge(bucket);
    this.#budget?.addBucket();
    this.buckets.set(start, bucket);
  }
}

/** The keys of an origin as one text: their values in the order of the payload, separated by dots. */
export function instanceOf({ keys }: SeriesOrigin): string {
  return Object.values(keys).join(".");
}

/** Buckets that are merged before the time is checked. */
const MERGES_PER_TIME_CHECK = 256;

/**
 * Joins the series of the same sensor: a device with a NAME keeps its series when it changes its address, and the series has
 * the latest address. Sorts them by field, bus, address and keys. Changes the given series.
 */
export async function joinSeries(
  list: Iterable<Series>,
  { fields, slices }: { fields: readonly SeriesField[]; slices: Slices },
): Promise<Series[]> {
  const joined = new Map<string, { series: Series; lastUs: number }>();
  for (const each of list) {
    await slices.pause();
    const { field, origin, buckets } = each;
    if (buckets.size === 0) continue;
    const device = origin.name === 0n ? `${origin.src}` : `0x${origin.name.toString(16)}`;
    const key = JSON.stringify([field.text, origin.bus, device, origin.keys]);
    const lastUs = buckets.values().reduce((latest, bucket) => Math.max(latest, bucket.lastUs), -Infinity);
    const known = joined.get(key);
    if (known === undefined) {
      joined.set(key, { series: each, lastUs });
      continue;
    }
    if (lastUs >= known.lastUs) [known.series.origin, known.lastUs] = [origin, lastUs];
    let merged = 0;
    for (const [start, bucket] of buckets) {
      known.series.at(start).merge(bucket);
      if (++merged % MERGES_PER_TIME_CHECK === 0) await slices.pause();
    }
  }
  return inOrder(joined.values().map(({ series }) => series), fields);
}

function inOrder(list: Iterable<Series>, fields: readonly SeriesField[]): Series[] {
  const orderOf = new Map(fields.map(({ text }, index) => [text, index]));
  const rows = Array.from(list, (series) => {
    const { field, origin } = series;
    return { series, order: orderOf.get(field.text) ?? 0, origin, instance: instanceOf(origin) };
  });
  rows.sort((a, b) =>
    a.order - b.order || compare(a.origin.bus, b.origin.bus) || a.origin.src - b.origin.src ||
    compare(a.instance, b.instance)
  );
  return rows.map(({ series }) => series);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
