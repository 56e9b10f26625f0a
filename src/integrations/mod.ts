/**
 * Integrations of the boat: alerts by webhook, frames to MQTT, sentences of NMEA 0183, gateway server, announcement by mDNS,
 * state to systemd.
 *
 * None of them blocks the broker: MQTT has a bounded queue and publishes what it drops; alerts compare buses, devices and
 * health with the last reported state once a second.
 *
 * @module
 */
export { ALERT_DEFAULTS, type AlertFigures, type AlertHealth, Alerts, type AlertSettings } from "./alerts/alerts.ts";
export { ALERT_FILE, MAX_ALERT_FILE_BYTES } from "./alerts/file.ts";
export type { Alert, AlertRules, AlertSeverity, WatchedBus, WatchedComponents } from "./alerts/types.ts";
export { GATEWAY_FORMATS, type GatewayFormat } from "./gateway/formats.ts";
export {
  DEFAULT_BUFFER_BYTES as GATEWAY_BUFFER_BYTES,
  DEFAULT_MAX_CLIENTS as GATEWAY_MAX_CLIENTS,
  type GatewayCounters,
  GatewayServer,
  type GatewayServerOptions,
  type GatewayServerSettings,
  type GatewayTarget,
} from "./gateway/server.ts";
export { findBoats, type FindBoatsOptions, type FoundBoat } from "./mdns/browse.ts";
export { MdnsAnnouncer, type MdnsOptions, type MdnsService, type MdnsState } from "./mdns/mdns.ts";
export { checkInstanceName, instanceNameOf } from "./mdns/name.ts";
export { MDNS_PORT, type MulticastOptions, PEER_SERVICE } from "./mdns/socket.ts";
export type { MqttAccess, MqttQos } from "./mqtt/link.ts";
export { MqttBridge, type MqttBridgeOptions, type MqttCounters, type MqttSettings } from "./mqtt/mqtt.ts";
export type { LineLimits } from "./line_server.ts";
export type { LineCounters, LineTarget } from "./lines.ts";
export {
  DEFAULT_BUFFER_BYTES as NMEA0183_BUFFER_BYTES,
  DEFAULT_MAX_CLIENTS as NMEA0183_MAX_CLIENTS,
  DEFAULT_SENTENCE_NAMES,
  MIN_INTERVAL_MS as MIN_SENTENCE_INTERVAL_MS,
  Nmea0183Server,
  type Nmea0183ServerOptions,
  type Nmea0183Settings,
  SENTENCE_NAMES,
} from "./nmea0183/server.ts";
export { SystemdNotifier, type SystemdOptions } from "./systemd/systemd.ts";
export { growing, type NotifySettings, readNotifySettings } from "./systemd/watchdog.ts";
