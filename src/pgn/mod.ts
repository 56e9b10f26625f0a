/**
 * What is known about PGNs: how they travel (single frame or fast packet), manufacturers, and the few payloads that the
 * gateway itself must understand. The facts come from the generated definitions with the overlay's corrections.
 *
 * @module
 */
export * from "./catalog.ts";
export * from "./decode.ts";
export * from "./encode.ts";
export * from "./framing.ts";
export type { Framing } from "./overlay/mod.ts";
export * from "./manufacturers.ts";
export * from "./numbers.ts";
export * from "./product_information.ts";
export type { FieldType } from "./spec.ts";
export type { Decoded, DecodedValue } from "./value.ts";
