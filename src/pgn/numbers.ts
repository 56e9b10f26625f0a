import definitions from "./definitions.gen.json" with { type: "json" };
import { type Framing, FRAMING_CORRECTIONS } from "./overlay.ts";

/** PGNs that the gateway itself sends or evaluates. */
export const PGN = {
  isoAcknowledgement: 59392,
  isoRequest: 59904,
  transportData: 60160,
  transportControl: 60416,
  addressClaim: 60928,
  heartbeat: 126993,
  productInformation: 126996,
  manOverboard: 127233,
} as const;

/** ISO request (PGN 59904) for `pgn`: three bytes, little-endian (ISO 11783-3 §5.4.2). */
export function isoRequestPayload(pgn: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(pgn & 0xff, (pgn >>> 8) & 0xff, (pgn >>> 16) & 0xff);
}

const known = new Map<number, Framing>();
for (const [pgn, type] of definitions.pgns) known.set(Number(pgn), type === "fast" ? "fast" : "single");
for (const { pgns, framing } of FRAMING_CORRECTIONS) for (const pgn of pgns) known.set(pgn, framing);

/**
 * Framing of a PGN: by the definitions and their corrections; for an unknown PGN by the ranges of the standard:
 * 0x1ED00-0x1EFFF and 0x1FF00-0x1FFFF are fast packets, all others single frames.
 */
export function framingOf(pgn: number): Framing {
  const framing = known.get(pgn);
  if (framing !== undefined) return framing;
  const fast = (pgn >= 0x1ed00 && pgn <= 0x1efff) || (pgn >= 0x1ff00 && pgn <= 0x1ffff);
  return fast ? "fast" : "single";
}

/** True when a message of this PGN is sent as a fast packet, whatever its length. */
export function isFastPacket(pgn: number): boolean {
  return framingOf(pgn) === "fast";
}
