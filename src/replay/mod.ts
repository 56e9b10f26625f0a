/**
 * Recordings played again: a {@linkcode Playlist} knows which blocks come one after the other, a {@linkcode Player}
 * publishes their frames as they came in time, and {@linkcode PlayedBlocks} gives what was played to whoever reads it
 * later.
 *
 * @module
 */
export * from "./played_blocks.ts";
export * from "./player.ts";
export * from "./playlist.ts";
