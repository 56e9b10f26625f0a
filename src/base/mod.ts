/**
 * General utilities, independent of NMEA 2000: clocks, parsers, back-off, rate limits, logging, crash-safe files.
 *
 * @module
 */
export { BackgroundTurns } from "./background_turns.ts";
export {
  AtomicFile,
  type DurableFile,
  removeIfExists,
  replaceFile,
  syncDirectory,
  type TargetFile,
  tryRemoveSync,
  writeAll,
} from "./atomic_file.ts";
export * from "./certificate_end.ts";
export * from "./clock.ts";
export * from "./directory_lock.ts";
export * from "./disk_space.ts";
export * from "./file_error.ts";
export * from "./interrupter.ts";
export * from "./json_file.ts";
export * from "./json_members.ts";
export * from "./late_import.ts";
export * from "./line_log.ts";
export * from "./log.ts";
export * from "./parsers.ts";
export * from "./ranges.ts";
export * from "./stall_detector.ts";
export * from "./token_bucket.ts";
export { Turns } from "./turns.ts";
