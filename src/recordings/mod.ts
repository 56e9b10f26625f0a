/**
 * Recorded frames: read from files of every format, converted to journals, played back at their recorded times.
 *
 * @module
 */
export * from "./convert/convert.ts";
export * from "./recorded_frames.ts";
export * from "./replay/played_blocks.ts";
export * from "./replay/player.ts";
export * from "./replay/playlist.ts";
