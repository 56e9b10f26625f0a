/**
 * The cloud server: options and limits, and what starts it.
 *
 * @module
 */
export {
  type AcmeSettings,
  type BoatTrust,
  type Cloud,
  CLOUD_DEFAULTS,
  type CloudLimits,
  type CloudNodeOptions,
  type CloudOptions,
  type CloudPorts,
  type CloudRecordingOptions,
  type CloudStoreOptions,
  DEFAULT_STORE_INTERVAL_MS,
  startCloud,
} from "../cloud_server/mod.ts";
export type { InstanceSettings } from "../cloud/mod.ts";
