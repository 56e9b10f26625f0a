/**
 * Integrations of the boat: alerts by webhook, frames to MQTT, announcement by mDNS, state to systemd.
 *
 * None of them blocks the broker: MQTT has a bounded queue and publishes what it drops; alerts compare buses, devices and
 * health with the last reported state once a second.
 *
 * @module
 */
export { ALERT_DEFAULTS, type AlertFigures, type AlertHealth, Alerts, type AlertSettings } from "./alerts/alerts.ts";
export { ALERT_FILE, MAX_ALERT_FILE_BYTES } from "./alerts/file.ts";
export type { Alert, AlertRules, AlertSeverity, WatchedBus, WatchedComponents } from "./alerts/types.ts";
export { findBoats, type FindBoatsOptions, type FoundBoat } from "./mdns/browse.ts";
export { MdnsAnnouncer, type MdnsOptions, type MdnsState } from "./mdns/mdns.ts";
export { checkInstanceName, instanceNameOf } from "./mdns/name.ts";
export { MDNS_PORT, type MulticastOptions } from "./mdns/socket.ts";
export type { MqttAccess, MqttQos } from "./mqtt/link.ts";
export { MqttBridge, type MqttBridgeOptions, type MqttCounters, type MqttSettings } from "./mqtt/mqtt.ts";
export { SystemdNotifier, type SystemdOptions } from "./systemd/systemd.ts";
export { growing, type NotifySettings, readNotifySettings } from "./systemd/watchdog.ts";
