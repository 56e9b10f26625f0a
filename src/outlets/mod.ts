/**
 * What the boat tells others by itself: alerts by webhook, frames to MQTT; where it is, by mDNS; how it does, to systemd.
 *
 * @module
 */
export { ALERT_DEFAULTS, type AlertFigures, type AlertHealth, Alerts, type AlertSettings } from "./alerts.ts";
export { ALERT_FILE, MAX_ALERT_FILE_BYTES } from "./alerts_file.ts";
export type { Alert, AlertRules, AlertSeverity, WatchedBus, WatchedComponents } from "./alerts_types.ts";
export { MdnsAnnouncer, type MdnsOptions, type MdnsState } from "./mdns.ts";
export { findBoats, type FindBoatsOptions, type FoundBoat } from "./mdns_browse.ts";
export { checkInstanceName, instanceNameOf } from "./mdns_name.ts";
export { MDNS_PORT, type MulticastOptions } from "./mdns_socket.ts";
export { MqttBridge, type MqttBridgeOptions, type MqttCounters, type MqttSettings } from "./mqtt.ts";
export type { MqttAccess, MqttQos } from "./mqtt_link.ts";
export { SystemdNotifier, type SystemdOptions } from "./systemd.ts";
export { growing, type NotifySettings, readNotifySettings } from "./systemd_watchdog.ts";
