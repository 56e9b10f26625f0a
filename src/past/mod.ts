/**
 * What a server showed at any time of its journal. {@linkcode Past} begins with tables that are stored beside a journal file,
 * and applies the frames that follow, as a broker does when they arrive. A server forgets at its start what it knew; the
 * blocks of a boat say which start has recorded them.
 *
 * @module
 */
export * from "./frame_clock.ts";
export * from "./past.ts";
export * from "./replay.ts";
export * from "./tables.ts";
