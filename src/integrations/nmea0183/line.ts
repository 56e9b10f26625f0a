/** Longest sentence with `$` or `!`, checksum and line end, characters (IEC 61162-1). */
export const MAX_SENTENCE_CHARS = 82;
const CRLF = "\r\n";
/** Characters with a meaning of their own in a sentence or tag block. */
const RESERVED = /[^\x20-\x7e]|[$*,!\\^~]/g;

/** XOR of all characters, as two hexadecimal digits. */
export function checksum(text: string): string {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum ^= text.charCodeAt(i);
  return sum.toString(16).toUpperCase().padStart(2, "0");
}

/** A sentence with checksum and line end. `start`: `$`, or `!` for encapsulated data. */
export function sentence(fields: readonly string[], start: "$" | "!" = "$"): string {
  const body = fields.join(",");
  return `${start}${body}*${checksum(body)}${CRLF}`;
}

/** A tag block: source and UNIX time, which precedes a sentence (IEC 61162-450). */
export function tagBlock(source: string, timeS: number): string {
  const body = `s:${source},c:${timeS}`;
  return `\\${body}*${checksum(body)}\\`;
}

/** A text as a field: characters that have a meaning in a sentence become spaces; at most `maxChars`. */
export function textField(text: string, maxChars: number): string {
  return text.replaceAll(RESERVED, " ").trim().slice(0, maxChars);
}

/** A number as a field; empty while there is none. */
export function numberField(
  value: number | undefined,
  { factor = 1, offset = 0, digits = 1, width = 0 }: {
    factor?: number;
    offset?: number;
    digits?: number;
    width?: number;
  } = {},
): string {
  if (value === undefined || !Number.isFinite(value)) return "";
  const text = (value * factor + offset).toFixed(digits);
  // -0.0 has no meaning of its own.
  return (/^-[0.]*$/.test(text) ? text.slice(1) : text).padStart(width, "0");
}

/** An angle as a direction from 0 to below 360 degrees; empty while there is none. */
export function directionField(radians: number | undefined, digits = 1): string {
  if (radians === undefined || !Number.isFinite(radians)) return "";
  const degrees = ((radians * 180 / Math.PI) % 360 + 360) % 360;
  const text = degrees.toFixed(digits);
  return Number(text) >= 360 ? (0).toFixed(digits) : text;
}

/** An angle with its side: degrees from 0 to 180, and one of two letters. */
export function sidedField(radians: number | undefined, [positive, negative]: readonly [string, string]): string[] {
  if (radians === undefined || !Number.isFinite(radians)) return ["", ""];
  const turn = 2 * Math.PI;
  const wrapped = ((radians + Math.PI) % turn + turn) % turn - Math.PI;
  return [(Math.abs(wrapped) * 180 / Math.PI).toFixed(1), wrapped < 0 ? negative : positive];
}

/** Four fields of a position: `ddmm.mmmm`, N or S, `dddmm.mmmm`, E or W. */
export function positionFields(position: { latitude: number; longitude: number } | undefined): string[] {
  if (!position) return ["", "", "", ""];
  const { latitude, longitude } = position;
  return [
    minutes(latitude, 2),
    latitude < 0 ? "S" : "N",
    minutes(longitude, 3),
    longitude < 0 ? "W" : "E",
  ];
}

/** Steps of a position in a minute. */
const STEPS = 10_000;

function minutes(degrees: number, width: number): string {
  const steps = Math.round(Math.abs(degrees) * 60 * STEPS);
  const whole = Math.floor(steps / (60 * STEPS));
  return String(whole).padStart(width, "0") + ((steps % (60 * STEPS)) / STEPS).toFixed(4).padStart(7, "0");
}

/** `hhmmss.ss` of a time in milliseconds since 1970. */
export function timeField(timeMs: number | undefined): string {
  if (timeMs === undefined) return "";
  const [, hour = "", minute = "", second = ""] = /T(\d\d):(\d\d):(\d\d\.\d\d)/.exec(new Date(timeMs).toISOString()) ??
    [];
  return hour + minute + second;
}

/** Day, month and year of a time in milliseconds since 1970. */
export function dateFields(timeMs: number | undefined): [string, string, string] {
  if (timeMs === undefined) return ["", "", ""];
  const [year = "", month = "", day = ""] = new Date(timeMs).toISOString().slice(0, 10).split("-");
  return [day, month, year];
}
