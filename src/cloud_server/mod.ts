/**
 * The cloud server: connects all parts.
 *
 * @module
 */
export * from "./cloud.ts";
export * from "./listeners.ts";
