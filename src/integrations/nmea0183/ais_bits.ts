import { sentence } from "./line.ts";

/** A field of an AIS message (ITU-R M.1371-5). Spare bits have no name, so that no value can get into them. */
export type AisField =
  // `missing`: the value that means "not available".
  | { readonly kind: "number"; readonly name: string; readonly bits: number; readonly missing: number }
  | { readonly kind: "text"; readonly name: string; readonly bits: number }
  | { readonly kind: "spare"; readonly bits: number };

/** Values of an AIS message by field: numbers as AIS encodes them, and texts. */
export type AisValues = Readonly<Record<string, number | string | undefined>>;

/** A number; negative values are two's complement. */
export function number(name: string, bits: number, missing = 0): AisField {
  return { kind: "number", name, bits, missing };
}

/** A text of six-bit characters. */
export function text(name: string, bits: number): AisField {
  return { kind: "text", name, bits };
}

/** Bits that are 0. */
export function spare(bits: number): AisField {
  return { kind: "spare", bits };
}

const CHARACTER_BITS = 6;
/** Six-bit value of `@`, which fills texts up. */
const FILL = 0;
/** Payload characters of a sentence: 82 less `!AIVDM,2,1,3,A,`, `,0*hh` and the line end. */
const PAYLOAD_CHARS = 60;
const MAX_TEXT_BITS = 161 * CHARACTER_BITS;

/** Bits of a message, each 0 or 1. A text with 0 bits in the table is as long as its value. */
export function aisBits(fields: readonly AisField[], values: AisValues): number[] {
  const bits: number[] = [];
  for (const field of fields) {
    if (field.kind === "spare") {
      pushNumber(bits, { value: 0, bits: field.bits });
      continue;
    }
    const value = values[field.name];
    if (field.kind === "text") pushText(bits, { value: typeof value === "string" ? value : "", bits: field.bits });
    else pushNumber(bits, { value: fits(value, field.bits) ? value : field.missing, bits: field.bits });
  }
  return bits;
}

/** A number with more bits than the field would become another one. */
function fits(value: number | string | undefined, bits: number): value is number {
  return typeof value === "number" && value >= -(2 ** (bits - 1)) && value < 2 ** bits;
}

function pushNumber(bits: number[], { value, bits: width }: { value: number; bits: number }): void {
  const unsigned = value < 0 ? value + 2 ** width : value;
  for (let bit = width - 1; bit >= 0; bit--) bits.push((unsigned >>> bit) & 1);
}

function pushText(bits: number[], { value, bits: width }: { value: string; bits: number }): void {
  const needed = Math.min(value.length * CHARACTER_BITS, MAX_TEXT_BITS);
  const length = (width === 0 ? needed : width) / CHARACTER_BITS;
  for (let i = 0; i < length; i++) {
    const code = i < value.length ? sixBitOf(value.charCodeAt(i)) : FILL;
    pushNumber(bits, { value: code, bits: CHARACTER_BITS });
  }
}

/** Six-bit ASCII: `@` to `_` are 0 to 31, the space to `?` are 32 to 63; others become `?`. */
function sixBitOf(code: number): number {
  const upper = code >= 0x61 && code <= 0x7a ? code - 0x20 : code;
  if (upper >= 0x40 && upper <= 0x5f) return upper - 0x40;
  return upper >= 0x20 && upper <= 0x3f ? upper : 0x3f;
}

/** Bits as sentences: several when they do not fit in one. `group` (0 to 9) identifies those that belong together. */
export function aisSentences(
  bits: readonly number[],
  { talker, channel, group }: { talker: "AIVDM" | "AIVDO"; channel: string; group: number },
): string[] {
  const characters: string[] = [];
  for (let at = 0; at < bits.length; at += CHARACTER_BITS) {
    let value = 0;
    for (let i = 0; i < CHARACTER_BITS; i++) value = value * 2 + (bits[at + i] ?? 0);
    characters.push(String.fromCharCode(value < 40 ? value + 48 : value + 56));
  }
  const payload = characters.join("");
  const count = Math.max(1, Math.ceil(payload.length / PAYLOAD_CHARS));
  return Array.from({ length: count }, (_, index) => {
    const part = payload.slice(index * PAYLOAD_CHARS, (index + 1) * PAYLOAD_CHARS);
    const fill = index === count - 1 ? payload.length * CHARACTER_BITS - bits.length : 0;
    const id = count > 1 ? String(group) : "";
    return sentence([talker, String(count), String(index + 1), id, channel, part, String(fill)], "!");
  });
}
