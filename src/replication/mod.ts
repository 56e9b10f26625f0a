/**
 * What boat and cloud share when frames are replicated: the set of numbers that one of them holds.
 *
 * @module
 */
export * from "./ranges.ts";
