/**
 * The boat server, put together.
 *
 * @module
 */
export * from "./boat.ts";
export * from "./bus_pipelines.ts";
export * from "./integrations.ts";
export * from "./limits.ts";
export * from "./replication.ts";
export * from "./transmit.ts";
