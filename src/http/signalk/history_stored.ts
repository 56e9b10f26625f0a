import {
  averageOf,
  type Bucket,
  findSeriesField,
  keyFieldsOf,
  readSeries,
  ROLLUP_BUCKET_MS,
  type Series,
  type SeriesField,
  SeriesFieldError,
  type SeriesRequest,
  type SeriesRollup,
} from "../../series/mod.ts";
import {
  type HistoryMethod,
  type HistoryTable,
  type PathOrigin,
  SignalKMapper,
  type SignalKMessage,
  sourceOf,
} from "../../signalk/mod.ts";
import { sourceLabel } from "./feed.ts";

/** Methods whose values are in the sidecars of series. */
const STORED: ReadonlySet<HistoryMethod> = new Set<HistoryMethod>([
  "average",
  "sma",
  "ema",
  "last",
  "min",
  "max",
  "mid",
]);
/** Those that need the order of the values of the fields. */
const BY_ORDER: ReadonlySet<HistoryMethod> = new Set<HistoryMethod>(["min", "max", "mid"]);

/**
 * The fields that a path can be read from where there are sidecars of series; undefined: its frames must be read. The
 * sidecars have averages and extremes apart for each instance, reference and the like.
 */
export function storedFields(
  { fields }: PathOrigin,
  { rollup, bucketMs, methods }: {
    rollup: SeriesRollup | undefined;
    bucketMs: number;
    methods: readonly HistoryMethod[];
  },
): SeriesField[] | undefined {
  if (!fields || !rollup || bucketMs % ROLLUP_BUCKET_MS !== 0) return undefined;
  if (!methods.every((method) => STORED.has(method))) return undefined;
  const needsOrder = methods.some((method) => BY_ORDER.has(method));
  const found: SeriesField[] = [];
  for (const { pgn, name, decidedBy, keepsOrder } of fields) {
    const keys = keyFieldsOf(pgn);
    const field = fieldAt(`${pgn}.${name}`);
    if (!field || field.kind === "label" || field.unit === "deg" || !rollup.has(field)) return undefined;
    if ((needsOrder && !keepsOrder) || !decidedBy.every((each) => keys.includes(each))) return undefined;
    found.push(field);
  }
  return found;
}

function fieldAt(text: string): SeriesField | undefined {
  try {
    return findSeriesField(text);
  } catch (error) {
    if (error instanceof SeriesFieldError) return undefined;
    throw error;
  }
}

/** Buckets that are converted before the time is checked. */
const BUCKETS_PER_TIME_CHECK = 256;

/** Adds the values of fields that {@linkcode storedFields} has found. @throws the errors of `readSeries` */
export async function addStored(
  request: SeriesRequest,
  { table, paths }: { table: HistoryTable; paths: ReadonlySet<string> },
): Promise<void> {
  const { turns, signal } = request;
  let sliceEndMs = await turns.slice();
  for (const series of await readSeries(request)) {
    const convert = conversionOf(series, paths);
    if (!convert) continue;
    const { bus, src, name } = series.origin;
    const source = sourceOf({ bus: sourceLabel(bus), src, name: name || undefined });
    let count = 0;
    for (const [start, bucket] of series.buckets) {
      for (const path of convert.paths) table.merge(path, { figures: convert.figuresOf(bucket, path), source, start });
      if (++count % BUCKETS_PER_TIME_CHECK !== 0 || performance.now() < sliceEndMs) continue;
      signal.throwIfAborted();
      sliceEndMs = await turns.slice();
    }
  }
}

/** Converts the figures of a series as the mapper converts its values; undefined: it gives no value of the paths. */
function conversionOf({ field, origin: { src, name, bus, keys } }: Series, paths: ReadonlySet<string>) {
  const mapper = new SignalKMapper();
  const valuesOf = (value: number) => {
    const decoded = { ...keys, [field.name]: value };
    const message: SignalKMessage = { pgn: field.pgn, decoded, src, name: name || undefined, bus, timeUs: 0 };
    return mapper.map(message)?.values ?? [];
  };
  const found = valuesOf(1).filter((each) => each.field === field.name && paths.has(each.path));
  if (found.length === 0) return undefined;
  return {
    paths: found.map(({ path }) => path),
    figuresOf: (bucket: Bucket, path: string) => {
      const convert = (value: unknown) => {
        const converted = typeof value === "number" ? valuesOf(value).find((each) => each.path === path)?.value : NaN;
        return typeof converted === "number" ? converted : NaN;
      };
      const { count, cos, sin, lastUs } = bucket;
      return {
        ...{ numbers: count, cos, sin, lastUs },
        min: convert(bucket.min),
        max: convert(bucket.max),
        sum: convert(averageOf(bucket, field)) * count,
        last: convert(bucket.last),
      };
    },
  };
}
