/**
 * The true time, estimated from what GNSS receivers tell on the bus against the monotonic clock, for a boat without a
 * clock of its own. Pure.
 *
 * Each source and PGN is a stream of readings. A jump of the reported time begins a new timeline in it, and the most
 * credible one counts. Sources that agree are counted, and the line over the readings with the least latency is the
 * estimate.
 *
 * @module
 */
export * from "./clock_estimator.ts";
export { gnssTimeOf } from "./gnss_time.ts";
