/**
 * The client library: frames, sessions, devices, values and history of boats, from their own servers and from a cloud. It
 * uses neither Deno APIs nor `node:` modules, and runs in browsers, Node and Deno.
 *
 * @module
 */
export type { Filter } from "../filter/mod.ts";
export type { Device, DeviceEvent, Frame } from "../frame/mod.ts";
export type { Fetch } from "./api.ts";
export { Client, type SubscribeOptions } from "./client.ts";
export { CloudClient } from "./cloud_client.ts";
export { type ClientOptions, connect, connectCloud } from "./connect.ts";
export * from "./errors.ts";
export type { JournalClock } from "./history_pages.ts";
export type { Subscription } from "./live_stream.ts";
export { PastClient, type PastDevice } from "./past.ts";
export type { Reading } from "./reading.ts";
export type { RetryOptions } from "./retry.ts";
export type { Session } from "./session.ts";
export type { SessionOptions } from "./session_calls.ts";
export type * from "./types.ts";
export type * from "./types_black_box.ts";
export type * from "./types_cloud.ts";
export type * from "./types_doctor.ts";
export type * from "./types_pgn.ts";
export type * from "./types_series.ts";
export type * from "./types_ledger.ts";
export type * from "./types_source_history.ts";
export type * from "./types_voyages.ts";
