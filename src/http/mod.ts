/**
 * The only place that knows requests: route tables, checked parameters, event streams, WebSockets, health, metrics.
 *
 * @module
 */
export * from "./auth.ts";
export * from "./boat_routes.ts";
export { compileFor } from "./broker_filter.ts";
export * from "./health.ts";
export * from "./client_hello.ts";
export * from "./cloud_health.ts";
export { CloudMetrics, type CloudMetricSources } from "./cloud_metrics.ts";
export * from "./cloud_routes.ts";
export {
  type Connection,
  CONNECTION_LIMITS,
  type ConnectionFigures,
  type ConnectionLimits,
  Connections,
  networksProblem,
} from "./connections.ts";
export * from "./connections_open.ts";
export type { Handler, HttpServerOptions } from "./http_server.ts";
export * from "./listen.ts";
export * from "./listen_error.ts";
export type { ClientCa, HelloPeek } from "./listen_front.ts";
export * from "./listen_grpc.ts";
export * from "./listen_tls.ts";
export * from "./metrics.ts";
export * from "./pending_handler.ts";
export * from "./reads.ts";
export { type ReaderOptions, ReplicaReaders } from "./replica_readers.ts";
export * from "./routes.ts";
export * from "./stream_client.ts";
export * from "./stream_hub.ts";
export { StreamMemory } from "./stream_memory.ts";
export type { CertificateReading } from "./server_figures.ts";
export * from "./tls_files.ts";
export * from "./tls_pair.ts";
