/**
 * Series: the values of decoded fields over time, in buckets with minimum, average, maximum and last value. A series is one
 * field of one sensor: values of several devices, or of several instances in one device, are never averaged together.
 * Angles are averaged as vectors; for labels only the last value is kept.
 *
 * Times are those of the recording. Buckets begin at multiples of their width since 1970, so that they stay the same when a
 * chart is panned.
 *
 * @module
 */
export * from "./bucket.ts";
export { BucketBudget, SeriesCountError } from "./budget.ts";
export * from "./fields.ts";
export * from "./fold.ts";
export * from "./range.ts";
export * from "./read.ts";
export { DEFAULT_SERIES_PGNS, ROLLUP_BUCKET_MS } from "./rollup/base.ts";
export * from "./rollup/rollup.ts";
export { type FrameFold, type ScanOptions, scanRange, type SeriesIndex, type TimeRange } from "./scan.ts";
export * from "./series.ts";
export type { Slices, Turns } from "./slices.ts";
