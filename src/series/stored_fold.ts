import type { BucketBudget } from "./budget.ts";
import { ROLLUP_BUCKET_US } from "./rollup/base.ts";
import type { StoredSeries } from "./rollup/section.ts";
import type { TimeRange } from "./scan.ts";
import { Series } from "./series.ts";

/** Merges the buckets of sidecars into wider ones. */
export class StoredFold {
  readonly #ratio: number;
  readonly #budget: BucketBudget;
  readonly #series = new Map<string, Series>();

  constructor({ bucketMs, budget }: { bucketMs: number; budget: BucketBudget }) {
    this.#ratio = bucketMs * 1000 / ROLLUP_BUCKET_US;
    this.#budget = budget;
  }

  /** All series so far. */
  series(): MapIterator<Series> {
    return this.#series.values();
  }

  /**
   * Adds the buckets within a range, which must consist of whole buckets of sidecars.
   *
   * @throws {SeriesCountError} there are too many series or buckets
   */
  add({ origin, field, buckets }: StoredSeries, { fromUs, toUs }: TimeRange): void {
    const { bus, src, name, keys } = origin;
    const [first, last] = [fromUs / ROLLUP_BUCKET_US, Math.floor(toUs / ROLLUP_BUCKET_US)];
    let series: Series | undefined;
    for (const [start, bucket] of buckets) {
      if (start < first || start > last) continue;
      series ??= this.#seriesOf(JSON.stringify([field.text, bus, src, String(name), keys]), { origin, field });
      // Most buckets of narrow series are those of the sidecars: no copy.
      if (this.#ratio === 1) series.put(start, bucket);
      else series.at(Math.floor(start / this.#ratio)).merge(bucket);
    }
  }

  #seriesOf(key: string, { origin, field }: Pick<StoredSeries, "origin" | "field">): Series {
    let series = this.#series.get(key);
    if (series === undefined) this.#series.set(key, series = new Series(field, { origin, budget: this.#budget }));
    return series;
  }
}
