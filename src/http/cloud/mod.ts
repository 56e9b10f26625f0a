/**
 * The HTTP API of the cloud, apart from that of the boat, which does not load it.
 *
 * @module
 */
export { type ForwardOptions, forwardRequests, loadingBoats, type NodeRequest } from "./forward.ts";
export * from "./health.ts";
export { CloudMetrics, type CloudMetricSources } from "./metrics.ts";
export { type ReaderOptions, ReplicaReaders } from "./replica_readers.ts";
export * from "./routes.ts";
