import { fixedText } from "./read.ts";

/** What PGN 126996 tells of a device. */
export interface ProductInformation {
  /** The maker's number of the product. */
  productCode: number;
  /** What the product is called. */
  modelId: string;
  /** Of its software, in the maker's way. */
  softwareVersion: string;
  /** Of its hardware, in the maker's way. */
  modelVersion: string;
  /** Serial number, in the maker's way. */
  modelSerial: string;
}

/** Bytes of a whole product information message: two words, four strings of 32, two bytes. */
const PRODUCT_INFORMATION_BYTES = 134;

/** Where the four strings lie on real devices: `[start, length]`. */
const STRINGS = {
  modelId: [4, 32],
  softwareVersion: [36, 32],
  modelVersion: [68, 32],
  modelSerial: [100, 32],
} as const;
/** Where some software puts the model version instead: the software version 40 bytes long, the model version 24. */
const LATE_MODEL_VERSION = [76, 24] as const;

function text(payload: Uint8Array, [start, length]: readonly [number, number]): string {
  return fixedText(payload, start, start + length, { odd: "latin1" }).trimEnd();
}

/** Reads product information; undefined when the payload is too short to be one. */
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
