/**
 * Recordings without a running server: finds journals and recordings of other programs, and reads both as frames.
 *
 * @module
 */
export {
  type BusLoad,
  type Finding,
  type FindingKind,
  type FrameReference,
  RecordedDoctor,
  type Severity,
} from "../doctor/mod.ts";
export { type Clock, LOG_LEVELS, type LogFields, type LogFormat, Logger, type LogLevel } from "../base/mod.ts";
export {
  type BadLine,
  type PassedOver,
  RecordedMonotonic,
  type RecordingFormat,
  type RecordingNote,
  type RecordingSummary,
} from "../can/mod.ts";
export type { Filter } from "../filter/mod.ts";
export type { Device, StoredFrame } from "../frame/mod.ts";
export type { Block, BlockDevice, BlockError } from "../journal/mod.ts";
export {
  findRecorded,
  OfflineError,
  type OfflineOptions,
  readRecorded,
  type RecordedBlocks,
  type RecordedDevice,
  type RecordedInput,
  type RecordedPart,
} from "../recordings/mod.ts";
export { type AddressHolder, FirstOfInterval, RecordedFilter, type RecordedFilterOptions } from "../stream/mod.ts";
