/**
 * What becomes of a frame once it is whole: numbered, recorded, published.
 *
 * @module
 */
export * from "./frame_recorder.ts";
export * from "./recorder.ts";
