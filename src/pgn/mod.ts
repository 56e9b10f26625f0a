/**
 * What is known about PGNs: payloads decoded and encoded, what they hold (names, units, ranges, labels), how they travel
 * (single frame or fast packet), and manufacturers. The facts are the generated definitions with the overlay over them.
 *
 * @module
 */
export type { Labels, LabelValue } from "../units/mod.ts";
export * from "./catalog.ts";
export * from "./decode.ts";
export * from "./encode.ts";
export * from "./framing.ts";
export * from "./manufacturers.ts";
export * from "./numbers.ts";
export type { Framing } from "./overlay.ts";
export * from "./product_information.ts";
export type { FieldType } from "./spec.ts";
export type { Decoded, DecodedValue } from "./value.ts";
