/** Encoding of texts and byte sequences. */
import type { Field } from "./model.ts";
import { invalidBytesOf } from "./field.ts";
import { fixedText, lauText, lzText } from "./read.ts";
import { fail, isNothing, quote } from "./encode_error.ts";

/** Highest value of a leading length byte. */
const MAX_LENGTH = 255;
const HEADER_BYTES = 2;
const UTF16 = 0;
const SINGLE_BYTES = 1;

const utf8 = new TextEncoder();

/** Path of the field, for errors. */
interface TextContext {
  path: string;
}

function utf16(text: string): Uint8Array {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let index = 0; index < text.length; index++) view.setUint16(index * 2, text.charCodeAt(index), true);
  return new Uint8Array(view.buffer);
}

function expectText(value: unknown, path: string): string {
  if (typeof value !== "string") fail(path, `${quote(value)} is not a text`);
  return value;
}

function tooLong(path: string, text: string, { has, most }: { has: number; most: number }): never {
  fail(path, `${quote(text)} has ${has} bytes, at most ${most} fit`);
}

function unreadable(path: string, text: string): never {
  fail(path, `${quote(text)} holds characters that would not be read back`);
}

/** Padding of a text: @ for AIS, 0xFF for all others. */
function fillingOf({ origin, fill = "" }: Field): number {
  return origin === "overlay" && fill.startsWith("@") ? 0x40 : 0xff;
}

/** The text without trailing padding characters, which cannot be distinguished from padding. */
function withoutFill(text: string, fill: string): string {
  let end = text.length;
  while (end > 0 && fill.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function fixedBytes(field: Field, text: string, { path }: TextContext): Uint8Array {
  const { bits = 0, fill = "" } = field;
  const bytes = new Uint8Array(bits / 8).fill(fillingOf(field));
  const content = utf8.encode(withoutFill(text, fill));
  if (content.length > bytes.length) tooLong(path, text, { has: content.length, most: bytes.length });
  bytes.set(content);
  const back = fixedText(bytes, 0, bytes.length, { fill, invalid: invalidBytesOf(field) });
  return back === withoutFill(text, fill) ? bytes : unreadable(path, text);
}

/** Encodes Latin-1 text as single bytes, other text as UTF-16; the other way where the first would not decode to the same text. */
function lauBytes(field: Field, text: string, { path }: TextContext): Uint8Array {
  const ways = [{ encoding: SINGLE_BYTES, content: utf8.encode(text) }, { encoding: UTF16, content: utf16(text) }];
  // deno-lint-ignore no-control-regex
  if (!/^[\x00-\xff]*$/.test(text)) ways.reverse();
  const most = MAX_LENGTH - HEADER_BYTES;
  const fitting = ways.filter(({ content }) => content.length <= most);
  if (fitting.length === 0) tooLong(path, text, { has: Math.min(...ways.map(({ content }) => content.length)), most });
  for (const { encoding, content } of fitting) {
    const bytes = Uint8Array.of(content.length + HEADER_BYTES, encoding, ...content);
    if (lauText(bytes, 0, bytes.length, { fill: field.fill, invalid: invalidBytesOf(field) }) === text) return bytes;
  }
  return unreadable(path, text);
}

function lzBytes(field: Field, text: string, { path }: TextContext): Uint8Array {
  const content = utf8.encode(text);
  const most = Math.min(MAX_LENGTH, field.bits === undefined ? MAX_LENGTH : field.bits / 8 - 1);
  if (content.length > most) tooLong(path, text, { has: content.length, most });
  const bytes = new Uint8Array(field.bits === undefined ? content.length + 2 : field.bits / 8).fill(0xff);
  bytes[0] = content.length;
  bytes.set(content, 1);
  if (content.length + 1 < bytes.length) bytes[content.length + 1] = 0;
  return lzText(bytes, 0, bytes.length, invalidBytesOf(field)) === text ? bytes : unreadable(path, text);
}

/** Bytes of a text including length, encoding and padding. A missing value is an empty text. */
export function textBytes(field: Field, value: unknown, context: TextContext): Uint8Array {
  const text = isNothing(value) ? "" : expectText(value, context.path);
  if (field.type === "lau") return lauBytes(field, text, context);
  return field.type === "lz" ? lzBytes(field, text, context) : fixedBytes(field, text, context);
}

/** Bytes of hex digits; a missing value is no bytes. */
export function hexDigits(value: unknown, path: string): Uint8Array {
  if (isNothing(value)) return new Uint8Array(0);
  if (typeof value !== "string" || !/^(?:[0-9a-f]{2})*$/i.test(value)) fail(path, `${quote(value)} is not hex digits`);
  return Uint8Array.fromHex(value);
}

/** Bytes of decimal digits, two per byte, padded with 0xFF. */
export function decimalBytes(field: Field, value: unknown, { path }: TextContext): Uint8Array {
  const bytes = new Uint8Array((field.bits ?? 0) / 8).fill(0xff);
  if (isNothing(value)) return bytes;
  if (typeof value !== "string" || !/^(?:\d\d)+$/.test(value)) {
    fail(path, `${quote(value)} is not an even number of decimal digits`);
  }
  if (value.length > bytes.length * 2) fail(path, `${quote(value)} has more than ${bytes.length * 2} digits`);
  for (let at = 0; at < value.length; at += 2) bytes[at / 2] = Number(value.slice(at, at + 2));
  return bytes;
}
