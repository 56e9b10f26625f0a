/**
 * Vessel Bus Gateway: a boat server that reads NMEA 2000 from CAN buses and streams it to many clients.
 *
 * @module
 */
export * from "./src/api/boat.ts";
export * from "./src/api/cloud_server.ts";
export * from "./src/api/simulation.ts";
export * from "./src/client/mod.ts";
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
