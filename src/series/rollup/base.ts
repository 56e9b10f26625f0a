/** PGNs whose fields are kept in sidecars by default: navigation, wind, environment, engines, batteries and tanks. */
export const DEFAULT_SERIES_PGNS: readonly number[] = [
  ...[127245, 127250, 127251, 127257, 128000, 128259, 128267, 128275, 129025, 129026, 129029, 129283, 129291],
  // Other messages with headings, variation, course and speed.
  ...[65359, 127258, 130577],
  ...[130306, 130310, 130311, 130312, 130313, 130314, 130316],
  ...[127488, 127489, 127493, 127497, 127505, 127506, 127508],
];

/** Width of the buckets in sidecars, milliseconds. All wider ones of replies are multiples of it. */
export const ROLLUP_BUCKET_MS = 30_000;
/** {@linkcode ROLLUP_BUCKET_MS} in microseconds. */
export const ROLLUP_BUCKET_US = ROLLUP_BUCKET_MS * 1000;
