/**
 * PGN definitions in addition to the generated ones, as data: layouts with the field names and labels that existing
 * clients use, corrections of single fields, PGNs that canboat does not describe, the framing of real devices, and
 * names of manufacturers. Each row has the reason why it exists and why it differs from canboat's.
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
