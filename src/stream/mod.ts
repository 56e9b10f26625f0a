/**
 * Reading at one's own pace: from the journal, then from the ring, then live, each frame once; and the sessions that
 * remember how far a client has come.
 *
 * Streams with the same filter share their subscription and their bytes, unless the filter depends on devices.
 * Filters on manufacturer, instance or NAME are resolved when made and again on each claim, so that they may be made
 * before the device speaks.
 *
 * @module
 */
export * from "./cursor.ts";
export * from "./filters.ts";
export * from "./frame_source.ts";
export { Batch, type StreamKind } from "./live/batch.ts";
export { compileFor, openFilter } from "./live/broker_filter.ts";
export { Chunk } from "./live/chunk.ts";
export * from "./live/client.ts";
export * from "./live/hub.ts";
export { type StreamMember, StreamMemory, TRANSPORT_BYTES } from "./live/memory.ts";
export { OpenStreams, type StreamCounter } from "./live/slots.ts";
export * from "./session_access.ts";
export { CLIENT_ID } from "./session_file.ts";
export * from "./session_options.ts";
export type { SessionFigures } from "./session_owners.ts";
export * from "./session_stream.ts";
export * from "./session_types.ts";
export * from "./sessions.ts";
