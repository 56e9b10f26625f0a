/**
 * Reading at one's own pace: from the journal, then from the ring, then live, each frame once; and the sessions that
 * remember how far a client has come.
 *
 * @module
 */
export * from "./cursor.ts";
export * from "./frame_source.ts";
export * from "./filters.ts";
export * from "./session_access.ts";
export { CLIENT_ID } from "./session_file.ts";
export * from "./session_options.ts";
export type { SessionFigures } from "./session_owners.ts";
export * from "./session_stream.ts";
export * from "./session_words.ts";
export * from "./sessions.ts";
