/**
 * Reading frames at the client's pace: from the journal, then from the ring, then live, each frame once. Sessions store the
 * position of a client; live streams send each frame to all connected clients.
 *
 * Streams with the same filter share their subscription and their bytes, unless the filter depends on devices.
 * Filters on manufacturer, instance or NAME are resolved when made and again on each claim, so that they may be made
 * before the device has claimed an address.
 *
 * @module
 */
export { DEFAULT_SOURCE_HISTORY_BYTES, SourceHistory, type SourceHistoryReply } from "./source_history.ts";
export type { LoggedDevice, QuantityHistory, SourceSpan } from "./source_spans.ts";
export * from "./cursor.ts";
export * from "./filters.ts";
export * from "./first_of_interval.ts";
export * from "./frame_source.ts";
export { Batch, Chunk, type StreamClient, type StreamKind } from "./live/channel.ts";
export { OpenStreams, type StreamCounter, type StreamMember, StreamMemory, TRANSPORT_BYTES } from "./live/budget.ts";
export * from "./live/hub.ts";
export type { SourceEvent, SourceWatch } from "./live/source_watch.ts";
export * from "./session_access.ts";
export { CLIENT_ID } from "./session_file.ts";
export type { SessionFigures } from "./session_owners.ts";
export { mergeSessions } from "./session_merge.ts";
export { SESSION_FILES } from "./session_store.ts";
export * from "./session_stream.ts";
export * from "./session_types.ts";
export * from "./sessions.ts";
