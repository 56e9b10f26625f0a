/**
 * What boat and cloud share when frames are replicated: the set of numbers that one of them holds, and the messages that
 * they exchange. `proto/replication/v1/replication.proto` is the contract.
 *
 * @module
 */
export * from "./codec.ts";
export { WireError } from "./codec_wire.ts";
export * from "./messages.ts";
export * from "./ranges.ts";
