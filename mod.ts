/**
 * Vessel Bus Gateway: a boat server that reads NMEA 2000 from CAN buses and streams it to many clients.
 *
 * @module
 */
export {
  type Boat,
  BOAT_DEFAULTS,
  type BoatLimits,
  type BoatOptions,
  type BoatTransmitOptions,
  type IntegrationOptions,
  type ReplicationOptions,
  type ServerLimits,
  type ServerOptions,
  startBoat,
  type VirtualDeviceSettings,
} from "./src/boat/mod.ts";
export {
  type ConvertedFile,
  type ConvertedInput,
  ConvertError,
  type ConvertOptions,
  convertRecordings,
  type ConvertSummary,
  type ConvertTarget,
  findRecorded,
  OfflineError,
  type OfflineOptions,
  OutputExistsError,
  type PlayerState,
  readRecorded,
  type RecordedDevice,
  type RecordedInput,
  type RecordedPart,
  type RecordingInput,
  ReplayError,
} from "./src/recordings/mod.ts";
export {
  type AcmeSettings,
  type BoatTrust,
  type Cloud,
  CLOUD_DEFAULTS,
  type CloudLimits,
  type CloudOptions,
  type CloudPorts,
  type CloudRecordingOptions,
  startCloud,
} from "./src/cloud_server/mod.ts";
export type { InstanceSettings } from "./src/cloud/mod.ts";
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
} from "./src/listen/mod.ts";
export {
  FIRST_RECONNECT_MS,
  isOwnMachine,
  type LinkLimits,
  type LinkTlsPaths,
  type Range,
  Ranges,
} from "./src/replication/mod.ts";
export { isInstanceId } from "./src/pki/mod.ts";
export {
  type Simulation,
  SIMULATION_PORT,
  type SimulationOptions,
  startDemo,
  startSimulation,
} from "./src/simulation/mod.ts";
export { FrameRecorder, type FrameRecorderOptions, type RecordingOptions, type StoreOptions } from "./src/feed/mod.ts";
export * from "./src/client/mod.ts";
export * from "./src/filter/mod.ts";
export * from "./src/frame/mod.ts";
export type { ArchiveTrigger, OverflowPolicy, RetentionSettings } from "./src/journal/mod.ts";
export { VERSION } from "./src/version.ts";
export {
  type BackoffOptions,
  type Clock,
  type ListenAddress,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  Logger,
  type LogLevel,
} from "./src/base/mod.ts";
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
  isBusSource,
  parseBusSource,
  type PassedOver,
  RECORDING_FORMATS,
  RECORDING_NOTES,
  type RecordingFormat,
  type RecordingNote,
  type RecordingSummary,
} from "./src/can/mod.ts";
export {
  type AlertRules,
  type AlertSettings,
  checkInstanceName,
  findBoats,
  type FindBoatsOptions,
  type FoundBoat,
  growing,
  instanceNameOf,
  MdnsAnnouncer,
  type MdnsOptions,
  type MdnsState,
  type MqttAccess,
  type MqttQos,
  type MqttSettings,
  type MulticastOptions,
  type NotifySettings,
  readNotifySettings,
  SystemdNotifier,
  type SystemdOptions,
} from "./src/integrations/mod.ts";
export type { CanFrame, Device, DeviceEvent, Frame, StoredFrame } from "./src/frame/mod.ts";
export { boundFilter, type Filter, FilterError } from "./src/filter/mod.ts";
export { type AccessToken, type Scope, SCOPES } from "./src/http/mod.ts";
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
} from "./src/transmit/mod.ts";
export {
  type AddressHolder,
  CLIENT_ID,
  RecordedFilter,
  type RecordedFilterOptions,
  type Slot,
} from "./src/stream/mod.ts";
export type { BlockDevice } from "./src/journal/mod.ts";
