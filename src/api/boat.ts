/**
 * The boat server: options, limits and settings of its parts, and what starts it.
 *
 * @module
 */
export {
  type BlackBoxSettings,
  type Boat,
  BOAT_DEFAULTS,
  type BoatDoctorOptions,
  type BoatLimits,
  type BoatOptions,
  type BoatTransmitOptions,
  type IntegrationOptions,
  type ReplicationOptions,
  type ServerLimits,
  type ServerOptions,
  startBoat,
  type VirtualDeviceSettings,
} from "../boat/mod.ts";
export {
  ACME_CHALLENGES,
  type AcmeChallenge,
  checkTlsPair,
  CONNECTION_LIMITS as CONNECTION_DEFAULTS,
  type ConnectionLimits,
  type ConnectionOptions,
  ListenError,
  networksProblem,
  TlsError,
  type TlsPair,
  type TlsPaths,
} from "../listen/mod.ts";
export {
  FIRST_RECONNECT_MS,
  isOwnMachine,
  type LinkLimits,
  type LinkTlsPaths,
  type Range,
  Ranges,
} from "../replication/mod.ts";
export { mmsiProblem, type VesselSettings } from "../http/mod.ts";
export { isInstanceId } from "../pki/mod.ts";
export { FrameRecorder, type FrameRecorderOptions, type RecordingOptions, type StoreOptions } from "../feed/mod.ts";
export * from "../filter/mod.ts";
export * from "../frame/mod.ts";
export type { ArchiveTrigger, OverflowPolicy, RetentionSettings } from "../journal/mod.ts";
export { VERSION } from "../version.ts";
export {
  type BackoffOptions,
  type Clock,
  type ListenAddress,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  Logger,
  type LogLevel,
} from "../base/mod.ts";
export {
  type AssemblerDrops,
  type BadLine,
  type BusCounters,
  type BusDriver,
  BusError,
  type BusSink,
  type BusSource,
  type BusSourceBase,
  BusSourceError,
  type BusState,
  type CanBus,
  type ControllerState,
  createBus,
  type ErrorFrameCounts,
  type InterfaceCount,
  isBusSource,
  parseBusSource,
  type PassedOver,
  RECORDING_FORMATS,
  RECORDING_NOTES,
  type RecordingFormat,
  type RecordingNote,
  type RecordingSummary,
} from "../can/mod.ts";
export {
  type AlertRules,
  type AlertSettings,
  checkInstanceName,
  DEFAULT_SENTENCE_NAMES,
  findBoats,
  type FindBoatsOptions,
  type FoundBoat,
  GATEWAY_BUFFER_BYTES,
  GATEWAY_FORMATS,
  GATEWAY_MAX_CLIENTS,
  type GatewayFormat,
  type GatewayServerSettings,
  type GatewayTarget,
  growing,
  instanceNameOf,
  type LineLimits,
  type LineTarget,
  MdnsAnnouncer,
  type MdnsOptions,
  type MdnsService,
  type MdnsState,
  MIN_SENTENCE_INTERVAL_MS,
  type MqttAccess,
  type MqttQos,
  type MqttSettings,
  type MulticastOptions,
  NMEA0183_BUFFER_BYTES,
  NMEA0183_MAX_CLIENTS,
  type Nmea0183Settings,
  type NotifySettings,
  readNotifySettings,
  SENTENCE_NAMES,
  SystemdNotifier,
  type SystemdOptions,
} from "../integrations/mod.ts";
export { type AccessToken, type LimitInForce, type Scope, SCOPES } from "../http/mod.ts";
export {
  type AddressUser,
  composeName,
  DEFAULT_REQUESTS_MIN_INTERVAL_MS,
  type DeviceMatch,
  formatSendRule,
  type FrameRequestRule,
  type IsoRequestRule,
  type NameParts,
  type OutgoingMessage,
  type OwnIdentity,
  parseSendRule,
  parseSendRules,
  type PgnRange,
  type RequestRule,
  type RequestRuleBase,
  type SendRule,
  type SubKeyPosition,
  type Transmit,
  type TransmitLimits,
  type TransmitOptions,
  uniqueNumberOf,
  VIRTUAL_DEVICE_DEFAULTS,
  type VirtualDeviceOptions,
} from "../transmit/mod.ts";
export { type AddressHolder, CLIENT_ID, RecordedFilter, type RecordedFilterOptions, type Slot } from "../stream/mod.ts";
export type { BlockDevice } from "../journal/mod.ts";
