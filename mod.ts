/**
 * Vessel Bus Gateway: a boat server that reads NMEA 2000 from CAN buses and streams it to many clients.
 *
 * @module
 */
export { type Boat, BOAT_DEFAULTS, type BoatOptions, startBoat } from "./src/boat.ts";
export type { BoatLimits } from "./src/boat_limits.ts";
export type { StoreOptions } from "./src/boat_stores.ts";
export type { OutletOptions } from "./src/boat_outlets.ts";
export type { ReplicationOptions } from "./src/boat_replication.ts";
export type { VirtualDeviceSettings, VoiceOptions } from "./src/boat_voice.ts";
export {
  type ConvertedFile,
  type ConvertedInput,
  ConvertError,
  type ConvertOptions,
  convertRecordings,
  type ConvertSummary,
  type ConvertTarget,
  OutputExistsError,
  type RecordingInput,
} from "./src/convert/mod.ts";
export {
  type Cloud,
  CLOUD_DEFAULTS,
  type CloudLimits,
  type CloudOptions,
  type CloudRecordingOptions,
  startCloud,
} from "./src/cloud.ts";
export type { AcmeSettings, BoatTrust, CloudPorts } from "./src/cloud_doors.ts";
export { ACME_CHALLENGES, type AcmeChallenge } from "./src/acme/mod.ts";
export {
  FIRST_RECONNECT_MS,
  isInstanceId,
  isOwnMachine,
  type LinkLimits,
  type LinkTlsPaths,
  type Range,
  Ranges,
} from "./src/replication/mod.ts";
export {
  CONNECTION_LIMITS as CONNECTION_DEFAULTS,
  type ConnectionLimits,
  type ConnectionOptions,
  networksProblem,
} from "./src/http/mod.ts";
export { startDemo } from "./src/demo.ts";
export { FrameRecorder, type FrameRecorderOptions } from "./src/frame_recorder.ts";
export {
  findRecorded,
  OfflineError,
  type OfflineOptions,
  readRecorded,
  type RecordedDevice,
  RecordedFilter,
  type RecordedInput,
  type RecordedPart,
} from "./src/offline.ts";
export type { RecordingOptions } from "./src/recorder.ts";
export * from "./src/client/mod.ts";
export { type Simulation, SIMULATION_PORT, type SimulationOptions, startSimulation } from "./src/simulate.ts";
export { type PlayerState, ReplayError } from "./src/replay/mod.ts";
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
} from "./src/outlets/mod.ts";
export type { CanFrame, Device, DeviceEvent, Frame, StoredFrame } from "./src/frame/mod.ts";
export { boundFilter, type Filter, FilterError } from "./src/filter/mod.ts";
export {
  type AccessToken,
  checkTlsPair,
  ListenError,
  type Scope,
  SCOPES,
  TlsError,
  type TlsPair,
  type TlsPaths,
} from "./src/http/mod.ts";
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
  type RequestRuleWords,
  type SendRule,
  type SubKeyPlace,
  type Transmit,
  type TransmitLimits,
  type TransmitOptions,
  uniqueNumberOf,
  VIRTUAL_DEVICE_DEFAULTS,
  type VirtualDeviceOptions,
} from "./src/node/mod.ts";
export { CLIENT_ID, type Slot } from "./src/stream/mod.ts";
