/**
 * Values for people: units that sailors read, labels in place of codes, and units as they are written in expressions.
 * Nothing here needs Deno, or the definitions of PGNs: fields come as `/pgns/{pgn}` describes them.
 *
 * @module
 */
export * from "./described.ts";
export * from "./field_text.ts";
export * from "./label.ts";
export { type MeasuredField, UNIT_SYSTEMS, type UnitSystem } from "./look.ts";
export * from "./quantity.ts";
export * from "./value_text.ts";
