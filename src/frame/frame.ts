/** A frame as the APIs show it (the specification's Frame resource). */
export interface Frame {
  /** Sequence number: starts at 1 and ascends within an epoch. */
  seq: number;
  /** Time of reception: RFC 3339, UTC, exactly three decimals, rounded down. */
  ts: string;
  /** CAN priority 0-7, lower is more urgent. */
  prio: number;
  /** Parameter Group Number. */
  pgn: number;
  /** Source address. */
  src: number;
  /** Destination address; 255 is broadcast. */
  dst: number;
  /** Bus name; present when the server has more than one bus. */
  bus?: string;
  /** Payload, lower-case hex. */
  data: string;
}

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
  /** Number of frames that it was made of; default 1. */
  frames?: number;
}

/** Longest payload of a message: ISO 11783-3 transport protocol, 255 packets of 7 bytes. */
export const MAX_MESSAGE_BYTES = 1785;
/** Longest payload of a fast packet: 6 bytes and 31 times 7. */
export const MAX_FAST_PACKET_BYTES = 223;
/** Most data bytes of a CAN frame. */
export const MAX_CAN_BYTES = 8;

/**
 * A frame with its sequence number, read from the ring or the journal. The reader owns the object and reuses it;
 * `data` is memory of the storage: copy what must outlive the next read.
 */
export interface StoredFrame {
  /** Sequence number. */
  seq: number;
  /** Time of reception, microseconds since 1970. */
  timeUs: number;
  /** 29-bit identifier. */
  id: number;
  /** PGN of `id`. */
  pgn: number;
  /** Index of the bus in the server's list of buses. */
  bus: number;
  /** Buffer that holds the payload at `offset`. */
  data: Uint8Array;
  /** Offset of the payload in `data`. */
  offset: number;
  /** Length of the payload, bytes. */
  length: number;
}

/** An empty frame to read into. */
export function newStoredFrame(): StoredFrame {
  return { seq: 0, timeUs: 0, id: 0, pgn: 0, bus: 0, data: new Uint8Array(0), offset: 0, length: 0 };
}

/** Text after the decimal point, for each millisecond of a second. */
const MS_TEXTS = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, "0")}Z`);
let lastSecond = NaN;
let lastSecondText = "";

/** RFC 3339 text of a time in microseconds since 1970, in UTC with exactly three decimals, rounded down. */
export function formatTimeUs(timeUs: number): string {
  const ms = Math.floor(timeUs / 1000);
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastSecondText = new Date(second * 1000).toISOString().slice(0, -4);
    lastSecond = second;
  }
  return lastSecondText + MS_TEXTS[ms - second * 1000];
}

/** Lower-case hex of `data`, or of `length` bytes from `start`. */
export function formatHex(data: Uint8Array, part?: { start: number; length: number }): string {
  return (part ? data.subarray(part.start, part.start + part.length) : data).toHex();
}

/** Bytes of a hex string, upper or lower case; undefined when it is not hex. */
export function readHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  // Not `Uint8Array.fromHex`, which allocates outside of the heap.
  const bytes = new Uint8Array(text.length >> 1);
  try {
    bytes.setFromHex(text);
    return bytes;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
