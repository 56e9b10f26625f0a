/**
 * What the boat tells others by itself: alerts by webhook.
 *
 * @module
 */
export { ALERT_DEFAULTS, type AlertFigures, type AlertHealth, Alerts, type AlertSettings } from "./alerts.ts";
export { ALERT_FILE, MAX_ALERT_FILE_BYTES } from "./alerts_file.ts";
export type { Alert, AlertRules, AlertSeverity, WatchedBus, WatchedComponents } from "./alerts_types.ts";
