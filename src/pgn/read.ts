/** Decoding of bytes other than plain numbers. Pure; `at` and `end` are byte offsets, `end` exclusive. */
import type { Labels } from "./model.ts";

const utf16 = new TextDecoder("utf-16le", { ignoreBOM: true });

const REPLACEMENT = 0xfffd;

/** Length of the UTF-8 sequence that starts at `at`; 0 when there is none (RFC 3629). */
function sequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > end) return 0;
  const second = bytes[at + 1] ?? 0;
  if ((lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f)) return 0;
  if ((lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f)) return 0;
  for (let next = 1; next < length; next++) if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

/** Decodes UTF-8, with one replacement character per invalid byte. */
function codePoints(bytes: Uint8Array, at: number, end: number): number[] {
  const points: number[] = [];
  while (at < end) {
    const length = sequenceLength(bytes, at, end);
    let point = length === 0 ? REPLACEMENT : (bytes[at] ?? 0) & (length === 1 ? 0x7f : 0xff >>> (length + 1));
    for (let next = 1; next < length; next++) point = (point << 6) | ((bytes[at + next] ?? 0) & 0x3f);
    points.push(point);
    at += Math.max(1, length);
  }
  return points;
}

/** Decodes one character per byte; eight at a time, which is several times faster than a loop over single bytes. */
function singleBytes(bytes: Uint8Array, at: number, end: number): string {
  const byte = (index: number) => bytes[index] ?? 0;
  let text = "";
  for (; at + 8 <= end; at += 8) {
    text += String.fromCharCode(
      byte(at),
      byte(at + 1),
      byte(at + 2),
      byte(at + 3),
      byte(at + 4),
      byte(at + 5),
      byte(at + 6),
      byte(at + 7),
    );
  }
  for (; at < end; at++) text += String.fromCharCode(byte(at));
  return text;
}

/**
 * Decodes a text: ASCII on nearly every device, otherwise UTF-8. For invalid UTF-8
 * `"latin1"` reads every byte as Latin-1, and `"lossy"` replaces each invalid byte by U+FFFD.
 */
export function characters(bytes: Uint8Array, at: number, end: number, invalid: "latin1" | "lossy"): string {
  let every = 0;
  for (let next = at; next < end; next++) every |= bytes[next] ?? 0;
  if (every > 0x7f) {
    const points = codePoints(bytes, at, end);
    if (invalid === "lossy" || !points.includes(REPLACEMENT)) return String.fromCodePoint(...points);
  }
  return singleBytes(bytes, at, end);
}

/** Decodes a text of fixed width: it ends at the first 0x00 or 0xFF, and padding is removed. */
export function fixedText(
  bytes: Uint8Array,
  at: number,
  end: number,
  { fill = "", invalid }: { fill?: string | undefined; invalid: "latin1" | "lossy" },
): string {
  let stop = at;
  while (stop < end && bytes[stop] !== 0x00 && bytes[stop] !== 0xff) stop++;
  while (fill !== "" && stop > at && fill.includes(String.fromCharCode(bytes[stop - 1] ?? 0))) stop--;
  return characters(bytes, at, stop, invalid);
}

/** End of a text with leading length and encoding bytes; its length includes these two. */
export function lauEnd(bytes: Uint8Array, at: number, end: number): number {
  return at >= end ? at : Math.min(end, at + Math.max(2, bytes[at] ?? 0));
}

/**
 * Decodes a text with leading length and encoding (0: UTF-16, otherwise single bytes). With `fill` it is trimmed like
 * a text of fixed width; without it every character is kept.
 */
export function lauText(
  bytes: Uint8Array,
  at: number,
  end: number,
  { invalid, fill = invalid === "latin1" ? " @" : undefined }: {
    fill?: string | undefined;
    invalid: "latin1" | "lossy";
  },
): string {
  const stop = lauEnd(bytes, at, end);
  const start = at + 2;
  if (start >= stop) return "";
  if (bytes[at + 1] === 0) return utf16.decode(bytes.subarray(start, stop));
  return fill === undefined
    ? characters(bytes, start, stop, invalid)
    : fixedText(bytes, start, stop, { fill, invalid });
}

/** End of a text with a leading length and a final zero; its length includes neither. */
export function lzEnd(bytes: Uint8Array, at: number, end: number): number {
  return at >= end ? at : Math.min(end, at + (bytes[at] ?? 0) + 2);
}

/** Decodes a text with a leading length. */
export function lzText(bytes: Uint8Array, at: number, end: number, invalid: "latin1" | "lossy"): string {
  const stop = at >= end ? at : Math.min(end, at + 1 + (bytes[at] ?? 0));
  return fixedText(bytes, at + 1, stop, { invalid });
}

const HEX_BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Hex digits of bytes. */
export function hexBytes(bytes: Uint8Array, at: number, end: number): string {
  let text = "";
  for (let next = at; next < end; next++) text += HEX_BYTES[bytes[next] ?? 0xff];
  return text;
}

/** Hex digits of `bits` bits from bit `bit`, byte by byte, lowest bits first; the last byte is padded with zeros. */
export function hexBits(bytes: Uint8Array, bit: number, bits: number): string {
  let text = "";
  for (let done = 0; done < bits; done += 8) {
    const at = bit + done;
    const pair = (bytes[at >>> 3] ?? 0xff) | ((bytes[(at >>> 3) + 1] ?? 0xff) << 8);
    text += HEX_BYTES[(pair >>> (at & 7)) & (2 ** Math.min(8, bits - done) - 1)];
  }
  return text;
}

/** A 64-bit number in two halves as `0x` and 16 hex digits, as NAMEs are shown. */
export function hexNumber(low: number, high: number): string {
  return "0x" + (high >>> 0).toString(16).padStart(8, "0") + (low >>> 0).toString(16).padStart(8, "0");
}

/** Decimal digits, two in each byte; 0xFF ends them, null when there are none. */
export function decimalText(bytes: Uint8Array, at: number, end: number): string | null {
  let text = "";
  for (let next = at; next < end; next++) {
    const byte = bytes[next] ?? 0xff;
    if (byte > 99) break;
    text += byte < 10 ? `0${byte}` : `${byte}`;
  }
  return text === "" ? null : text;
}

/** Labels of the bits that are set, lowest first; a bit without a label as its number. */
export function bitLabels(labels: Labels, low: number, high = 0): (string | number)[] {
  const set: (string | number)[] = [];
  for (let bit = 0; bit < 64; bit++) {
    if ((bit < 32 ? low >>> bit : high >>> (bit - 32)) & 1) set.push(labels.byCode.get(bit) ?? bit);
  }
  return set;
}

/** `{id, name}`, without a name where the table has none. */
export function lookedUp(labels: Labels | undefined, id: number): { id: number; name?: string } {
  const name = labels?.byCode.get(id);
  return name === undefined ? { id } : { id, name };
}

/** ISO 8601 date of a number of days since 1970-01-01, in the Gregorian calendar. */
export function isoDate(days: number): string {
  const shifted = days + 719_468; // since 0000-03-01, so that a leap day is the last of its year
  const era = Math.floor(shifted / 146_097); // of 400 years
  const day = shifted - era * 146_097;
  const year = Math.floor((day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365);
  const ofYear = day - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * ofYear + 2) / 153); // March is 0
  const ofMonth = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const wrapped = month < 10 ? month + 3 : month - 9;
  return `${year + era * 400 + (wrapped < 3 ? 1 : 0)}-${twoDigits(wrapped)}-${twoDigits(ofMonth)}`;
}

const twoDigits = (value: number) => value < 10 ? `0${value}` : `${value}`;

function fractionText(rest: number, perSecond: number): string {
  const digits = Math.ceil(Math.log10(perSecond));
  return "." + Math.round(rest / perSecond * 10 ** digits).toString().padStart(digits, "0").replace(/0+$/, "");
}

/** ISO 8601 time of `ticks` since midnight, given the ticks per second; hours may exceed 24. */
export function isoTime(ticks: number, perSecond: number): string {
  const size = Math.abs(ticks);
  const seconds = Math.floor(size / perSecond);
  const rest = size - seconds * perSecond;
  const fraction = rest === 0 ? "" : fractionText(rest, perSecond);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${ticks < 0 ? "-" : ""}${twoDigits(hours)}:${twoDigits(minutes)}:${twoDigits(seconds % 60)}${fraction}`;
}

const floats = new DataView(new ArrayBuffer(4));

/** The 32-bit IEEE 754 number of these bits, in the fewest digits that identify it; null for NaN and infinity. */
export function float32(raw: number): number | null {
  floats.setUint32(0, raw);
  const value = floats.getFloat32(0);
  if (!Number.isFinite(value)) return null;
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
