/**
 * Readers for recordings of other programs and devices: from their formats to frames and complete messages. Pure;
 * bytes are passed in.
 *
 * @module
 */
export * from "./assemble.ts";
export { RecordedMonotonic } from "./clocks.ts";
export { detectFormat } from "./detect.ts";
export * from "./piece_reader.ts";
export {
  type BadLine,
  MAX_LISTED_BAD,
  newRecordingSummary,
  type PassedOver,
  type RecordedItem,
  RECORDING_FORMATS,
  RECORDING_NOTES,
  RecordingError,
  type RecordingFormat,
  type RecordingNote,
  type RecordingSummary,
} from "./recording.ts";
export { formatSentence } from "./text.ts";
