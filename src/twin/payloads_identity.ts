import { lauBytes, PayloadWriter } from "./bits.ts";
import { field } from "./fields.ts";

/** NMEA 2000 version of the network messages: 2.100. */
const NMEA_2000_VERSION = 2100;
/** Certification level B, as PGN 126996 has it. */
const CERTIFICATION_LEVEL = 1;
const PRODUCT_TEXT_BYTES = 32;

/** What a device says of itself in PGN 126996. */
export interface Product {
  readonly code: number;
  readonly model: string;
  readonly softwareVersion: string;
  readonly modelVersion: string;
  readonly serial: string;
  /** Current drawn from the bus, in units of 50 mA. */
  readonly loadEquivalency: number;
}

/** PGN 60928, address claim. */
export function packClaim(name: bigint): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).putRaw64(name).finish();
}

/** PGN 126996, product information; unused characters are 0xFF. */
export function packProduct(product: Product): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(134).put(field.U16, NMEA_2000_VERSION).put(field.U16, product.code);
  for (const text of [product.model, product.softwareVersion, product.modelVersion, product.serial]) {
    writer.putText(text, { length: PRODUCT_TEXT_BYTES });
  }
  return writer.put(field.U8, CERTIFICATION_LEVEL).put(field.U8, product.loadEquivalency).finish();
}

/** PGN 126998, configuration information: two installation descriptions and the maker's words. */
export function packConfiguration(texts: readonly [string, string, string]): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(texts.reduce((sum, text) => sum + lauBytes(text), 0));
  for (const text of texts) writer.putLau(text);
  return writer.finish();
}

/** PGN 126464, the PGNs that a device sends or listens to. */
export function packPgnList(list: "transmit" | "receive", pgns: readonly number[]): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(1 + 3 * pgns.length).put(field.U8, list === "transmit" ? 0 : 1);
  for (const pgn of pgns) writer.put(field.U24, pgn);
  return writer.finish();
}

/** PGN 126993, heartbeat of a healthy device with one controller. */
export function packHeartbeat({ intervalMs, count }: { intervalMs: number; count: number }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.INTERVAL_MS, intervalMs).put(field.U8, count)
    .put(field.U2, 0).put(field.U2, undefined).put(field.U2, 0).reserve(34).finish();
}

/** Control byte of PGN 59392 that says no (ISO 11783-3 §5.4.4). */
const NEGATIVE_ACKNOWLEDGEMENT = 1;

/** PGN 59392, "I have no such thing". */
export function packRefusal(pgn: number): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, NEGATIVE_ACKNOWLEDGEMENT).reserve(32).put(field.U24, pgn).finish();
}
