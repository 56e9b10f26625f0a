/** A frame as every API shows it (the specification's Frame resource). */
export interface Frame {
  /** Starts at 1 and only ever grows. */
  seq: number;
  /** RFC 3339, UTC, exactly three decimals, floored. */
  ts: string;
  /** CAN priority 0-7, lower is more urgent. */
  prio: number;
  /** Parameter Group Number. */
  pgn: number;
  /** Source address. */
  src: number;
  /** 255 is everybody. */
  dst: number;
  /** Interface name; there when the server has more than one bus. */
  bus?: string;
  /** Payload, lower-case hex. */
  data: string;
}

/** What follows the point: one text for each millisecond of a second. */
const MS_TEXTS = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, "0")}Z`);
let lastSecond = NaN;
let lastSecondText = "";

/** RFC 3339 text of a time in microseconds since 1970, in UTC with exactly three decimals, floored. */
export function formatTimeUs(timeUs: number): string {
  const ms = Math.floor(timeUs / 1000);
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastSecondText = new Date(second * 1000).toISOString().slice(0, -4);
    lastSecond = second;
  }
  return lastSecondText + MS_TEXTS[ms - second * 1000];
}

/** Lower-case hex of `data`, or of the part from `start` that is `length` bytes long. */
export function formatHex(data: Uint8Array, part?: { start: number; length: number }): string {
  return (part ? data.subarray(part.start, part.start + part.length) : data).toHex();
}

/** Bytes of a hex string in any case; undefined when it is none. */
export function readHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}
