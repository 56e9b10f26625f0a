/** The fields of a 29-bit CAN identifier in NMEA 2000 (ISO 11783-3 §5.2). */
export interface CanHeader {
  /** Priority 0-7, lower is more urgent. */
  prio: number;
  /** Parameter Group Number, 18 bits. */
  pgn: number;
  /** Source address 0-255. */
  src: number;
  /** Destination address; 255 is broadcast. */
  dst: number;
}

/** Destination address of broadcast messages. */
export const BROADCAST_ADDRESS = 255;
/** Source address of a node that has none ("null address", ISO 11783-5). */
export const NULL_ADDRESS = 254;
/** Highest address a device can hold. */
export const MAX_DEVICE_ADDRESS = 253;
/** Highest 18-bit PGN. */
export const MAX_PGN = 0x3ffff;

/** First PDU format that is always broadcast; below it the PS byte is the destination. */
const PDU2_FORMAT = 240;

/** PGN carried by a 29-bit identifier. */
export function pgnOfId(id: number): number {
  const format = (id >>> 16) & 0xff;
  return format >= PDU2_FORMAT ? (id >>> 8) & MAX_PGN : (id >>> 8) & 0x3ff00;
}

/** Destination of a 29-bit identifier; {@linkcode BROADCAST_ADDRESS} for PDU2. */
export function destinationOfId(id: number): number {
  return ((id >>> 16) & 0xff) >= PDU2_FORMAT ? BROADCAST_ADDRESS : (id >>> 8) & 0xff;
}

/** Reads a 29-bit identifier. */
export function parseCanId(id: number): CanHeader {
  return { prio: (id >>> 26) & 7, pgn: pgnOfId(id), src: id & 0xff, dst: destinationOfId(id) };
}

/** True when messages of this PGN carry a destination (PDU1). */
export function isAddressed(pgn: number): boolean {
  return ((pgn >>> 8) & 0xff) < PDU2_FORMAT;
}

/** Builds the 29-bit identifier. Ignores `dst` for a PDU2 PGN, which carries no destination. */
export function buildCanId(header: CanHeader): number {
  const low = isAddressed(header.pgn) ? (header.pgn & 0x3ff00) | (header.dst & 0xff) : header.pgn & MAX_PGN;
  return ((header.prio & 7) << 26) | (low << 8) | (header.src & 0xff);
}
