/**
 * PGNs: decoding and encoding of payloads, descriptions of their fields (names, units, ranges, labels), framing (single
 * frame or fast packet), and manufacturers. Source are the generated definitions, changed and extended by the overlay.
 *
 * @module
 */
export type { Labels, LabelValue } from "../units/mod.ts";
export * from "./canboat.ts";
export * from "./catalog.ts";
export { decode } from "./decode.ts";
export * from "./encode.ts";
export type { FieldSpan } from "./field.ts";
export { spansOfPayload } from "./interpret.ts";
export * from "./manufacturers.ts";
export * from "./numbers.ts";
export type { Framing } from "./overlay.ts";
export { isProprietary } from "./parameters.ts";
export * from "./product_information.ts";
export type { Decoded, DecodedValue, FieldType } from "./spec.ts";
export { tableName, textOf } from "./table.ts";
