/**
 * The HTTP API of the cloud. A door of its own, so that a boat does not load the cloud's parts.
 *
 * @module
 */
export * from "./health.ts";
export { CloudMetrics, type CloudMetricSources } from "./metrics.ts";
export { type ReaderOptions, ReplicaReaders } from "./replica_readers.ts";
export * from "./routes.ts";
