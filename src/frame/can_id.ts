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
/** The 29 bits of a CAN identifier; also the highest one. */
export const CAN_ID_MASK = 0x1fffffff;

/** Bits 29 and 30 above an identifier: index of the bus, where both share one 32-bit word. */
const BUS_SHIFT = 29;
const BUS_MASK = 3;

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

/** Source address of a 29-bit identifier. */
export function sourceOfId(id: number): number {
  return id & 0xff;
}

/** Priority of a 29-bit identifier, 0-7. */
export function priorityOfId(id: number): number {
  return (id >>> 26) & 7;
}

/** Reads a 29-bit identifier. */
export function parseCanId(id: number): CanHeader {
  return { prio: priorityOfId(id), pgn: pgnOfId(id), src: sourceOfId(id), dst: destinationOfId(id) };
}

/** An identifier and the index of its bus, 0-3, in one 32-bit word as journals and replication store them. */
export function packBus(id: number, bus: number): number {
  return ((id & CAN_ID_MASK) | ((bus & BUS_MASK) << BUS_SHIFT)) >>> 0;
}

/** Index of the bus in a word made by {@linkcode packBus}; the identifier is `word & CAN_ID_MASK`. */
export function unpackBus(word: number): number {
  return (word >>> BUS_SHIFT) & BUS_MASK;
}

/** A number for the address of a device: the addresses of a bus follow each other. */
export function addressKey(bus: number, src: number): number {
  return (bus << 8) | src;
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
