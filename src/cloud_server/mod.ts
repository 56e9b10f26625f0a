/**
 * The cloud server, put together.
 *
 * @module
 */
export * from "./cloud.ts";
export * from "./listeners.ts";
