import { fixedText } from "./read.ts";

/** Product information of a device, from PGN 126996. */
export interface ProductInformation {
  /** Product code of the manufacturer. */
  productCode: number;
  /** Name of the model. */
  modelId: string;
  /** Software version, in the manufacturer's format. */
  softwareVersion: string;
  /** Hardware version, in the manufacturer's format. */
  modelVersion: string;
  /** Serial number, in the manufacturer's format. */
  modelSerial: string;
}

/** Bytes of a complete message: two words, four strings of 32 bytes, two bytes. */
const PRODUCT_INFORMATION_BYTES = 134;

/** Position of the four strings on real devices: `[start, length]`. */
const STRINGS = {
  modelId: [4, 32],
  softwareVersion: [36, 32],
  modelVersion: [68, 32],
  modelSerial: [100, 32],
} as const;
/** Alternative position of the model version in some software: software version 40 bytes, model version 24. */
const LATE_MODEL_VERSION = [76, 24] as const;

function text(payload: Uint8Array, [start, length]: readonly [number, number]): string {
  return fixedText(payload, start, start + length, { invalid: "latin1" }).trimEnd();
}

/** Reads product information; undefined when the payload is too short. */
export function readProductInformation(payload: Uint8Array): ProductInformation | undefined {
  if (payload.length < PRODUCT_INFORMATION_BYTES) return undefined;
  return {
    productCode: (payload[2] ?? 0) | ((payload[3] ?? 0) << 8),
    modelId: text(payload, STRINGS.modelId),
    softwareVersion: text(payload, STRINGS.softwareVersion),
    modelVersion: text(payload, STRINGS.modelVersion) || text(payload, LATE_MODEL_VERSION),
    modelSerial: text(payload, STRINGS.modelSerial),
  };
}
