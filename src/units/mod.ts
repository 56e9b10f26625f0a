/**
 * Human-readable values: display units, labels instead of codes, parsing of units in expressions, and names that a person may
 * have meant.
 * Needs neither Deno nor the PGN definitions: fields are described as in `/pgns/{pgn}`.
 *
 * @module
 */
export * from "./field_text.ts";
export * from "./label.ts";
export * from "./display_format.ts";
export * from "./nearest.ts";
export * from "./quantity.ts";
export * from "./value_text.ts";
