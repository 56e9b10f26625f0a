/**
 * The black box: the raw frames from a minute before an event to a minute after it, each event in a small journal file of
 * its own, which retention of the journal does not touch. An event is written down at once, its frames a minute later, from
 * the journal or, without one, from the ring; after a crash the next start finishes the file from the journal.
 *
 * A window is a range of sequence numbers, not of times: so a clock that is set within it changes nothing.
 *
 * @module
 */
export * from "./black_box.ts";
export * from "./events.ts";
export { type FrameStore, JournalFrames, RingFrames } from "./frame_store.ts";
export { MAX_KIND_CHARS } from "./record.ts";
