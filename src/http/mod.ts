/**
 * The HTTP API: route tables, parameter checks, event streams, WebSockets, health and metrics.
 *
 * `/history` is counted first where its limit may cut it (5 s at most), then sent, in slices of 8 ms between which
 * sockets are served. Tokens are kept as digests and compared in constant time. A bus that is down, missing or
 * bus-off has failed; all failed is `unhealthy`, anything less `degraded`. A fault in our code costs a frame, which
 * is counted and shown in health, never the server.
 *
 * @module
 */
export * from "./auth.ts";
export * from "./boat_routes.ts";
export type { DoctorReport } from "./doctor_route.ts";
export * from "./reads.ts";
export { ApiError, problem, textOf } from "./reply.ts";
export * from "./routes.ts";
export { type BoatProofSource, type Proof, proofOfBoat } from "./proof.ts";
export type { LimitInForce } from "./state_lists.ts";
export { SERIES_DEFAULTS, type SeriesLimits } from "./series/series.ts";
export * from "./status/health.ts";
export * from "./status/metrics.ts";
export type { CertificateReading } from "./status/server_figures.ts";
export { type PushedBody, pushedBodyOf } from "./streams/pushed_body.ts";
export { SignalK } from "./signalk/signalk.ts";
export { mmsiProblem, signalkServices, vesselOf, type VesselSettings } from "./signalk/vessel.ts";
export { findWebApps, type WebApp } from "./webapps.ts";
export { offerUpgrade } from "./streams/upgrades.ts";
