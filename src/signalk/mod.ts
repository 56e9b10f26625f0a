/**
 * Signal K: a data mapping from NMEA 2000 to its paths, deltas of decoded messages, and the model of newest values that
 * HTTP serves. Pure: time and messages are given.
 *
 * @module
 */
export * from "./mapper.ts";
export * from "./types.ts";
export * from "./model.ts";
export * from "./subscription.ts";
export * from "./tree.ts";
export * from "./history.ts";
export * from "./history_paths.ts";
export * from "./history_query.ts";
export type { Metadata } from "./metadata.ts";
