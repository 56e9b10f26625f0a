/**
 * The single writer: assigns every message its sequence number, stores it in a ring buffer, updates the device table and
 * the last values, and offers it to subscriptions. Each subscription is bounded and counts its drops.
 *
 * Devices are keyed by bus and source. A claim with a known NAME at a new address evicts the old entry with its
 * values; an address that another NAME claims starts with an empty entry; address 254 (cannot claim) only evicts.
 *
 * @module
 */
export * from "./broker.ts";
export * from "./decoder.ts";
export * from "./frame_json.ts";
export * from "./registry.ts";
export * from "./ring.ts";
export * from "./ring_pool.ts";
export * from "./tables.ts";
export * from "./values.ts";
