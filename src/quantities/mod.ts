/**
 * What a skipper reads: quantities such as depth or the speed of an engine, their newest values by device, whether these are
 * stale, and which device is preferred. Uses no Deno API and no PGN definitions: servers and the page in the browser share it.
 *
 * @module
 */
export * from "./interval.ts";
export * from "./quantities.ts";
export * from "./read.ts";
export * from "./table.ts";
