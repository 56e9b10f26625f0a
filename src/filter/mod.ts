/**
 * Filters of frames. A filter is compiled to one predicate, used by live streams, sessions, history, client and command
 * line. Runs in browsers.
 *
 * @module
 */
export * from "./compile.ts";
export * from "./filter.ts";
