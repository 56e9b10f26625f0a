/**
 * What is known about PGNs beyond the generated definitions, as data: the layouts with the field names and labels that
 * clients know, corrections of single fields, PGNs that canboat does not describe, the framing of real devices, and
 * names of manufacturers. A row says why it is there and, where it is not as canboat has it, why.
 *
 * @module
 */
export { CORRECTIONS, type FieldCorrection } from "./corrections.ts";
export { OVERLAY_DEFINITIONS } from "./definitions.ts";
export { type Framing, FRAMING_CORRECTIONS, type FramingCorrection } from "./framing.ts";
export { KEY_ROWS, type KeyRow } from "./keys.ts";
export { OVERLAY_TABLES } from "./labels.ts";
export { MANUFACTURER_ALIASES } from "./manufacturers.ts";
export * from "./newer.ts";
export * from "./newest.ts";
