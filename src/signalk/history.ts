import type { HistoryPath } from "./history_query.ts";
import type { PathOrigin } from "./history_paths.ts";
import type { Json } from "./types.ts";

/** Length of the mean vector below which angles cancel out and have no average. */
const MIN_MEAN_VECTOR = 1e-9;

/** The values of one path and source in one span of time. */
export class HistoryBucket {
  /** Number of values. */
  count = 0;
  /** Number of those that are numbers; the rest of the figures are about them. */
  numbers = 0;
  min = Infinity;
  max = -Infinity;
  sum = 0;
  /** Sums of the unit vectors of angles. */
  cos = 0;
  sin = 0;
  first: Json = null;
  firstUs = Infinity;
  last: Json = null;
  lastUs = -Infinity;
  /** All values, where they are needed. */
  values: Json[] | undefined;

  /** Adds a value. */
  add(value: Json, { timeUs, isAngle }: { timeUs: number; isAngle: boolean }): void {
    this.count++;
    if (timeUs < this.firstUs) [this.first, this.firstUs] = [value, timeUs];
    if (timeUs >= this.lastUs) [this.last, this.lastUs] = [value, timeUs];
    this.values?.push(value);
    if (typeof value !== "number") return;
    this.numbers++;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    if (isAngle) {
      this.cos += Math.cos(value);
      this.sin += Math.sin(value);
    } else this.sum += value;
  }

  /** Adds the figures of other values, all of them numbers. */
  merge({ numbers, min, max, sum, cos, sin, last, lastUs }: BucketFigures): void {
    this.count += numbers;
    this.numbers += numbers;
    this.min = Math.min(this.min, min);
    this.max = Math.max(this.max, max);
    this.sum += sum;
    this.cos += cos;
    this.sin += sin;
    if (lastUs >= this.lastUs) [this.last, this.lastUs] = [last, lastUs];
  }
}

/** Some figures of a {@linkcode HistoryBucket}. */
export type BucketFigures = Pick<HistoryBucket, "numbers" | "min" | "max" | "sum" | "cos" | "sin" | "last" | "lastUs">;

/** Limits the memory of one reply; throws when there is too much. */
export interface HistoryBudget {
  addBucket(): void;
}

/** The buckets of one source, by their start as a number of bucket widths since 1970. */
interface SourceBuckets {
  readonly source: string;
  readonly buckets: Map<number, HistoryBucket>;
  /** Lowest start. */
  first: number;
}

/** The values of one path, by source and span of time. */
class PathBuckets {
  readonly origin: PathOrigin;
  readonly #keepsValues: boolean;
  readonly #sources = new Map<string, SourceBuckets>();
  /** Some value is negative: averages of angles are -π to π, otherwise 0 to 2π. */
  isSigned = false;

  constructor(origin: PathOrigin, { keepsValues }: { keepsValues: boolean }) {
    this.origin = origin;
    this.#keepsValues = keepsValues;
  }

  /** Adds a value of the mapper. */
  add(
    value: Json,
    { source, start, timeUs, budget }: { source: string; start: number; timeUs: number; budget: HistoryBudget },
  ): void {
    const { member, isAngle } = this.origin;
    const wanted = memberOf(value, member);
    if (wanted === undefined || wanted === null) return;
    const bucket = this.#bucketOf({ source, start, budget });
    if (bucket.values) budget.addBucket();
    bucket.add(wanted, { timeUs, isAngle });
    if (typeof wanted === "number" && wanted < 0) this.isSigned = true;
  }

  /** Adds the figures of values that are numbers. */
  merge(figures: BucketFigures, at: { source: string; start: number; budget: HistoryBudget }): void {
    this.#bucketOf(at).merge(figures);
    // Angles from 0 to 2π that were converted are in another order.
    if (figures.min < 0 || figures.max < 0) this.isSigned = true;
  }

  #bucketOf({ source, start, budget }: { source: string; start: number; budget: HistoryBudget }): HistoryBucket {
    let own = this.#sources.get(source);
    if (!own) this.#sources.set(source, own = { source, buckets: new Map(), first: Infinity });
    let bucket = own.buckets.get(start);
    if (!bucket) {
      budget.addBucket();
      own.buckets.set(start, bucket = new HistoryBucket());
      own.first = Math.min(own.first, start);
      if (this.#keepsValues) bucket.values = [];
    }
    return bucket;
  }

  /** The sources, first the one heard first. */
  sources(): SourceBuckets[] {
    return [...this.#sources.values()].sort((a, b) => a.first - b.first || (a.source < b.source ? -1 : 1));
  }
}

function memberOf(value: Json, member: readonly string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const key of member) {
    if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** A column of a reply. */
export interface HistoryColumn {
  readonly path: string;
  readonly method: string;
  /** Where the sources are apart. */
  readonly $source?: string;
}

/**
 * The history of some paths, in buckets that begin at multiples of their width since 1970. A bucket has the values of one
 * source: that of the bucket before if it has any, else the one heard first of those that have. Averages of angles are
 * those of vectors; of objects and texts there is only the first, the middle and the last, which all other methods give.
 */
export class HistoryTable {
  readonly #paths: readonly { wanted: HistoryPath; buckets: PathBuckets | undefined }[];
  readonly #byMapped: ReadonlyMap<string, PathBuckets[]>;
  readonly #bucketMs: number;
  readonly #budget: HistoryBudget;
  readonly #allSources: boolean;

  constructor(
    paths: readonly { wanted: HistoryPath; origin: PathOrigin | undefined }[],
    { bucketMs, budget, allSources }: { bucketMs: number; budget: HistoryBudget; allSources: boolean },
  ) {
    this.#bucketMs = bucketMs;
    this.#budget = budget;
    this.#allSources = allSources;
    const byPath = new Map<string, PathBuckets>();
    this.#paths = paths.map(({ wanted, origin }) => {
      let buckets = byPath.get(wanted.path);
      if (origin && !buckets) {
        const keepsValues = paths.some(({ wanted: { path, method } }) =>
          path === wanted.path && method === "middle_index"
        );
        byPath.set(wanted.path, buckets = new PathBuckets(origin, { keepsValues }));
      }
      return { wanted, buckets };
    });
    this.#byMapped = Map.groupBy(byPath.values(), ({ origin }) => origin.mapped);
  }

  /** Adds a value of the mapper. @throws the error of the budget */
  add(path: string, { value, source, timeUs }: { value: Json; source: string; timeUs: number }): void {
    const found = this.#byMapped.get(path);
    if (!found) return;
    const start = Math.floor(timeUs / 1000 / this.#bucketMs);
    for (const each of found) each.add(value, { source, start, timeUs, budget: this.#budget });
  }

  /** Adds the figures of a bucket of values of the mapper, all of them numbers. @throws the error of the budget */
  merge(path: string, { figures, source, start }: { figures: BucketFigures; source: string; start: number }): void {
    for (const each of this.#byMapped.get(path) ?? []) each.merge(figures, { source, start, budget: this.#budget });
  }

  /** The columns, and the rows in the order of their times: milliseconds since 1970, then one value for each column. */
  result(): { columns: HistoryColumn[]; rows: Iterable<readonly [number, ...Json[]]> } {
    const parts = this.#paths.flatMap(({ wanted, buckets }) => {
      const sources = buckets?.sources() ?? [];
      const groups = this.#allSources && sources.length > 0 ? sources.map((each) => [each]) : [sources];
      return groups.map((group) => {
        const { path, method } = wanted;
        const [only] = group;
        const column: HistoryColumn = {
          ...{ path, method },
          ...(this.#allSources && only && { $source: only.source }),
        };
        return { column, group, reader: new ColumnReader(wanted, { group, about: buckets }) };
      });
    });
    const starts = new Set(parts.flatMap(({ group }) => group).flatMap(({ buckets }) => [...buckets.keys()]));
    const inOrder = Float64Array.from(starts).sort();
    const bucketMs = this.#bucketMs;
    function* rows(): Generator<readonly [number, ...Json[]]> {
      for (const start of inOrder) yield [start * bucketMs, ...parts.map(({ reader }) => reader.at(start))];
    }
    return { columns: parts.map(({ column }) => column), rows: rows() };
  }
}

/** Reads the buckets of a column in the order of their times. */
class ColumnReader {
  readonly #wanted: HistoryPath;
  readonly #group: readonly SourceBuckets[];
  readonly #about: PathBuckets | undefined;
  #source: SourceBuckets | undefined;
  /** Newest samples of a moving average. */
  readonly #samples: number[] = [];
  /** State of an exponential average: the value, or the vector of an angle. */
  #smooth: readonly [number, number] | undefined;

  constructor(
    wanted: HistoryPath,
    { group, about }: { group: readonly SourceBuckets[]; about: PathBuckets | undefined },
  ) {
    this.#wanted = wanted;
    this.#group = group;
    this.#about = about;
  }

  at(start: number): Json {
    if (!this.#source?.buckets.has(start)) {
      this.#source = this.#group.find(({ buckets }) => buckets.has(start)) ?? this.#source;
    }
    const bucket = this.#source?.buckets.get(start);
    return bucket ? this.#valueOf(bucket) : null;
  }

  #valueOf(bucket: HistoryBucket): Json {
    const { method } = this.#wanted;
    const { first, last, min, max, values = [] } = bucket;
    if (method === "first") return first;
    if (method === "last") return last;
    if (method === "middle_index") return values[Math.floor(values.length / 2)] ?? null;
    if (bucket.numbers === 0) return last;
    if (method === "min") return min;
    if (method === "max") return max;
    if (method === "mid") return (min + max) / 2;
    const average = this.#averageOf(bucket);
    if (average === null || method === "average") return average;
    return method === "sma" ? this.#movingAverage(average) : this.#exponentialAverage(average);
  }

  #averageOf({ numbers, sum, cos, sin }: HistoryBucket): number | null {
    if (!this.#about?.origin.isAngle) return sum / numbers;
    return this.#angleOf([cos / numbers, sin / numbers]);
  }

  #movingAverage(average: number): number | null {
    if (this.#samples.push(average) > this.#wanted.parameter) this.#samples.shift();
    const count = this.#samples.length;
    const mean = (of: (sample: number) => number) => this.#samples.reduce((sum, each) => sum + of(each), 0) / count;
    if (!this.#about?.origin.isAngle) return mean((each) => each);
    return this.#angleOf([mean(Math.cos), mean(Math.sin)]);
  }

  #exponentialAverage(average: number): number | null {
    const isAngle = this.#about?.origin.isAngle === true;
    const [a, b] = isAngle ? [Math.cos(average), Math.sin(average)] : [average, 0];
    const [x, y] = this.#smooth ?? [a, b];
    const weight = this.#wanted.parameter;
    this.#smooth = [x + weight * (a - x), y + weight * (b - y)];
    return isAngle ? this.#angleOf(this.#smooth) : this.#smooth[0];
  }

  /** The direction of a mean vector; null: its angles cancel out. */
  #angleOf([cos, sin]: readonly [number, number]): number | null {
    if (Math.hypot(cos, sin) < MIN_MEAN_VECTOR) return null;
    const angle = Math.atan2(sin, cos);
    return angle < 0 && !this.#about?.isSigned ? (angle + 2 * Math.PI) % (2 * Math.PI) : angle;
  }
}
