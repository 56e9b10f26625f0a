/**
 * Tools with no boat words in them: clocks, durations, sizes, back-off, rate limits, log lines.
 *
 * @module
 */
export * from "./address.ts";
export * from "./backoff.ts";
export * from "./clock.ts";
export * from "./duration.ts";
export * from "./log.ts";
export * from "./size.ts";
export * from "./stall_detector.ts";
export * from "./token_bucket.ts";
