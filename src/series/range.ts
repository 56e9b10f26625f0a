/** Times and buckets of a request; times are inclusive, in microseconds since 1970. */
export interface SeriesRange {
  fromUs: number;
  toUs: number;
  /** Width of a bucket, milliseconds. */
  bucketMs: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Widths of buckets, milliseconds, each for a readable time axis; wider ones are multiples of ten days. */
const WIDTHS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 20, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * HOUR),
  ...[1, 2, 5].map((days) => days * DAY),
];
const WIDEST_STEP_MS = 10 * DAY;

/**
 * The narrowest buckets of which at most `points` cover a range. Buckets begin at multiples of their width since 1970: a range
 * from before 1970 until later has at least two.
 */
export function bucketsFor({ fromUs, toUs }: Pick<SeriesRange, "fromUs" | "toUs">, points: number): SeriesRange {
  const most = Math.max(points, fromUs < 0 && toUs >= 0 ? 2 : 1);
  const count = (ms: number) => Math.floor(toUs / 1000 / ms) - Math.floor(fromUs / 1000 / ms) + 1;
  const bucketMs = WIDTHS_MS.find((ms) => count(ms) <= most);
  if (bucketMs !== undefined) return { fromUs, toUs, bucketMs };
  for (let ms = Math.max(1, Math.floor((toUs - fromUs) / 1000 / most / WIDEST_STEP_MS)) * WIDEST_STEP_MS;;) {
    if (count(ms) <= most) return { fromUs, toUs, bucketMs: ms };
    // A range that crosses a multiple of the width touches one bucket more than its length suggests. If only one is wanted,
    // the width may have to be that of all time since 1970.
    ms = most === 1 ? ms * 2 : ms + WIDEST_STEP_MS;
  }
}
