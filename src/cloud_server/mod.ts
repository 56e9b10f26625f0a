/**
 * The cloud server: connects all parts.
 *
 * @module
 */
export * from "./cloud.ts";
export * from "./listeners.ts";
export type { CloudNodeOptions } from "./sharing.ts";
export { type CloudStoreOptions, DEFAULT_STORE_INTERVAL_MS } from "./storing.ts";
