/**
 * Recorded frames: reading files of all formats, conversion to journals, replay at the recorded times.
 *
 * @module
 */
export * from "./convert/convert.ts";
export * from "./recorded_frames.ts";
export * from "./replay/played_blocks.ts";
export * from "./replay/player.ts";
export * from "./replay/playlist.ts";
