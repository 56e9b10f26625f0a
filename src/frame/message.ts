/**
 * A received CAN frame. The bus reuses one object and one buffer for all frames:
 * copy what must outlive the call.
 */
export interface CanFrame {
  /** 29-bit identifier, without the flags that SocketCAN keeps in the top bits. */
  id: number;
  /** Time of reception by the kernel's wall clock, microseconds since 1970. */
  timeUs: number;
  /** Monotonic time of reception, milliseconds; for timeouts. */
  monoMs: number;
  /** Buffer that holds the data bytes at `offset`. */
  data: Uint8Array;
  /** Offset of the first data byte in `data`. */
  offset: number;
  /** Number of data bytes, 0-8. */
  length: number;
}

/**
 * A complete NMEA 2000 message on its way to the broker: a single frame, or one reassembled from several.
 * Reused like {@linkcode CanFrame}.
 */
export interface Message extends CanFrame {
  /** Index of the bus in the server's list of buses. */
  bus: number;
  /** PGN of `id`. */
  pgn: number;
}

/** Longest payload of a message: ISO 11783-3 transport protocol, 255 packets of 7 bytes. */
export const MAX_MESSAGE_BYTES = 1785;
/** Longest payload of a fast packet: 6 bytes and 31 times 7. */
export const MAX_FAST_PACKET_BYTES = 223;
/** Most data bytes of a CAN frame. */
export const MAX_CAN_BYTES = 8;
