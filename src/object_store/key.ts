import { MAX_OBJECT_BYTES, type RangeOptions } from "./store.ts";

/** Longest key, bytes of UTF-8; S3 takes 1024 with the prefix of the store. */
export const MAX_KEY_BYTES = 800;
/** Longest segment of a key, bytes of UTF-8; file systems take 255. */
export const MAX_SEGMENT_BYTES = 200;

const encoder = new TextEncoder();

/**
 * Checks a key: segments separated by single slashes. A segment does not begin with a dot and has no backslash and no
 * control character, so that a key is also a path below a folder.
 *
 * @throws {RangeError} the key is not valid
 */
export function checkKey(key: string): string {
  const why = whyNotKey(key);
  if (why) throw new RangeError(`Cannot use the object key ${JSON.stringify(key)}: ${why}`);
  return key;
}

function whyNotKey(key: string): string | undefined {
  if (!key.isWellFormed()) return "it is not well-formed Unicode";
  if (encoder.encode(key).length > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`;
  for (const segment of key.split("/")) {
    if (segment === "") return "a part of it is empty";
    if (segment.startsWith(".")) return `its part "${segment}" begins with a dot`;
    // deno-lint-ignore no-control-regex -- control characters are refused
    if (/[\\\x00-\x1f\x7f\ufffe\uffff]/.test(segment)) return "it has a backslash or a control character";
    if (encoder.encode(segment).length > MAX_SEGMENT_BYTES) return `a part is longer than ${MAX_SEGMENT_BYTES} bytes`;
  }
  return undefined;
}

/** Checks a body. @throws {RangeError} it is larger than {@linkcode MAX_OBJECT_BYTES} */
export function checkBody(body: Uint8Array): void {
  if (body.length <= MAX_OBJECT_BYTES) return;
  throw new RangeError(`Cannot store ${body.length} bytes as one object: more than ${MAX_OBJECT_BYTES}`);
}

/** Checks a range. @throws {RangeError} it is not one of whole numbers, or larger than {@linkcode MAX_OBJECT_BYTES} */
export function checkRange({ offset, length }: RangeOptions): void {
  if (Number.isSafeInteger(offset + length) && Number.isSafeInteger(offset) && offset >= 0 && length >= 1) {
    if (length <= MAX_OBJECT_BYTES) return;
  }
  throw new RangeError(`Cannot read ${length} bytes from offset ${offset} of an object`);
}

/** Order of keys: of their UTF-8 bytes, which is the order of code points, not of JavaScript's strings. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rankUtf16(left) - rankUtf16(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others, but have lower numbers than U+E000 to U+FFFF. */
function rankUtf16(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
