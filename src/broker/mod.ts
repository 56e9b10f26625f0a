/**
 * The one writer: numbers every message and keeps it in a packed ring, in the device table and among the last values,
 * and hands it to subscribers, each bounded and with its drops counted.
 *
 * Devices are keyed by bus and source. A claim with a known NAME at a new address evicts the old entry with its
 * values; an address that another NAME claims starts with an empty entry; address 254 (cannot claim) only evicts.
 *
 * @module
 */
export * from "./broker.ts";
export * from "./decoder.ts";
export * from "./frame_json.ts";
export * from "./frame_text.ts";
export * from "./registry.ts";
export * from "./ring.ts";
export * from "./ring_pool.ts";
export * from "./subscription.ts";
export * from "./values.ts";
