/**
 * The words everybody speaks: frames, CAN identifiers, NAMEs, devices. No I/O, no state but a formatting cache;
 * runs in browsers.
 *
 * @module
 */
export * from "./can_id.ts";
export * from "./device.ts";
export * from "./frame.ts";
export * from "./message.ts";
export * from "./name.ts";
export * from "./stored_frame.ts";
