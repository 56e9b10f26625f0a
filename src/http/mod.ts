/**
 * The HTTP API: route tables, parameter checks, event streams, WebSockets, health and metrics.
 *
 * @module
 */
export * from "./auth.ts";
export * from "./boat_routes.ts";
export * from "./cloud/health.ts";
export { CloudMetrics, type CloudMetricSources } from "./cloud/metrics.ts";
export { type ReaderOptions, ReplicaReaders } from "./cloud/replica_readers.ts";
export * from "./cloud/routes.ts";
export * from "./reads.ts";
export { ApiError, problem, textOf } from "./reply.ts";
export * from "./routes.ts";
export * from "./status/health.ts";
export * from "./status/metrics.ts";
export type { CertificateReading } from "./status/server_figures.ts";
export { type PushedBody, pushedBodyOf } from "./streams/pushed_body.ts";
export { offerUpgrade } from "./streams/upgrades.ts";
