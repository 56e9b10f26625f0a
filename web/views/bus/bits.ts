import type { FieldSpan } from "@vessel/gateway/client";

/** Bits of a byte that a field takes: bit 0 is the lowest. */
export function maskOf({ bit, bits }: FieldSpan, byte: number): number {
  const from = Math.max(bit, byte * 8) - byte * 8;
  const to = Math.min(bit + bits, byte * 8 + 8) - byte * 8;
  return to <= from ? 0 : (2 ** to - 1) & ~(2 ** from - 1);
}

/** Bits of a byte that a field takes, also one that has several spans: an object of a list, or all of them. */
export function litBits(spans: readonly FieldSpan[], { name, byte }: { name: string; byte: number }): number {
  return spans.filter((span) => isPartOf(span, name)).reduce((mask, span) => mask | maskOf(span, byte), 0);
}

/** Whether a field takes only a part of a byte, so that its bits are shown. */
export function isSplit(spans: readonly FieldSpan[], byte: number): boolean {
  return spans.some((span) => ![0, 255].includes(maskOf(span, byte)));
}

/** Fields that have bits in a byte: `satellites.0.prn`, and what it is a part of: `satellites.0`, `satellites`. */
export function fieldsAt(spans: readonly FieldSpan[], byte: number): Set<string> {
  const names = spans.filter((span) => maskOf(span, byte) !== 0).map(({ name }) => name.split("."));
  return new Set(names.flatMap((parts) => parts.map((_, index) => parts.slice(0, index + 1).join("."))));
}

/** Bytes of a payload. */
export function bytesOf(hex: string): number[] {
  return Array.from(
    { length: Math.floor(hex.length / 2) },
    (_, index) => parseInt(hex.slice(2 * index, 2 * index + 2), 16),
  );
}

function isPartOf(span: FieldSpan, name: string): boolean {
  return span.name === name || span.name.startsWith(`${name}.`);
}
