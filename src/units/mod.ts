/**
 * Human-readable values: display units, labels instead of codes, and parsing of units in expressions.
 * Needs neither Deno nor the PGN definitions: fields are described as in `/pgns/{pgn}`.
 *
 * @module
 */
export * from "./field_text.ts";
export * from "./label.ts";
export { type MeasuredField, UNIT_SYSTEMS, type UnitSystem } from "./display_format.ts";
export * from "./quantity.ts";
export * from "./value_text.ts";
