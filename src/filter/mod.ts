/**
 * Which frames somebody wants: a filter becomes one predicate, used by server, sessions, history, client and command
 * line alike. Runs in browsers.
 *
 * @module
 */
export * from "./bounded.ts";
export * from "./compile.ts";
export * from "./filter.ts";
