/**
 * The single writer: assigns every message its sequence number, stores it in a ring buffer, updates the device table and
 * the last values, and offers it to subscriptions. Each subscription is bounded and counts its drops.
 *
 * @module
 */
export * from "./broker.ts";
export * from "./decoder.ts";
export * from "./frame_json.ts";
export * from "./registry.ts";
export * from "./ring.ts";
export * from "./ring_pool.ts";
export * from "./subscription.ts";
export * from "./values.ts";
