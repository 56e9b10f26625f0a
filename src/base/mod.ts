/**
 * Tools with no boat words in them: clocks, durations, sizes, back-off, rate limits, log lines, files that survive.
 *
 * @module
 */
export * from "./address.ts";
export * from "./atomic_file.ts";
export * from "./backoff.ts";
export * from "./certificate_end.ts";
export * from "./clock.ts";
export * from "./directory_lock.ts";
export * from "./duration.ts";
export * from "./error_text.ts";
export * from "./file_error.ts";
export * from "./is_there.ts";
export * from "./kept_file.ts";
export * from "./line_log.ts";
export * from "./log.ts";
export * from "./pause.ts";
export * from "./ranges.ts";
export * from "./size.ts";
export * from "./stall_detector.ts";
export * from "./timestamp.ts";
export * from "./token_bucket.ts";
