/**
 * The boat server: assembles buses, feed, transmit path, integrations, replication and HTTP.
 *
 * @module
 */
export type { BlackBoxSettings } from "./black_box.ts";
export * from "./boat.ts";
export * from "./bus_pipelines.ts";
export * from "./doctor.ts";
export * from "./integrations.ts";
export * from "./limits.ts";
export * from "./replication.ts";
export * from "./transmit.ts";
