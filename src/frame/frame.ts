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
  } catch {
    return undefined;
  }
}
