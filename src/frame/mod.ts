/**
 * The common types: frames, messages, CAN identifiers, NAMEs, devices. No I/O, no state except a formatting cache;
 * runs in browsers.
 *
 * @module
 */
export * from "./can_id.ts";
export * from "./device.ts";
export * from "./frame.ts";
export * from "./name.ts";
