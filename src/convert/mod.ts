/**
 * Recordings of other programs become journals: whole messages in the order of their times, numbered, with the devices
 * that told of themselves. The same recordings give the same bytes.
 *
 * @module
 */
export * from "./convert.ts";
