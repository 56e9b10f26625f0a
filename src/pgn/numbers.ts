/** PGNs that the gateway itself sends or evaluates. */
export const PGN = {
  isoAcknowledgement: 59392,
  isoRequest: 59904,
  transportData: 60160,
  transportControl: 60416,
  addressClaim: 60928,
  heartbeat: 126993,
  productInformation: 126996,
} as const;

/** ISO request (PGN 59904) for `pgn`: three bytes, little-endian (ISO 11783-3 §5.4.2). */
export function isoRequestPayload(pgn: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(pgn & 0xff, (pgn >>> 8) & 0xff, (pgn >>> 16) & 0xff);
}
