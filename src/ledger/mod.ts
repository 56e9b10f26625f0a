/**
 * The ledger: what became of every frame and message of a time range. Frames are counted where they come in, where they are
 * given up and where a message gets its number; messages where they get a number, where the journal loses one, and in the
 * files. No figure is the difference of two others, so that a line that does not add up shows. Two equations must hold:
 *
 *   received = dropped + incomplete + in messages + waiting     in frames
 *   numbered = recorded + missing                               in messages
 *
 * Counters are known at the beginning of each block of the journal, at its end, at the last sync before a crash, and now. A
 * range is widened to such moments; nothing is interpolated. What came while the program did not run is named as unknown.
 *
 * @module
 */
export * from "./account.ts";
export * from "./bus_ledger.ts";
export * from "./cloud_ledger.ts";
export * from "./ledger.ts";
export * from "./read_ledger.ts";
export * from "./reasons.ts";
export * from "./report.ts";
