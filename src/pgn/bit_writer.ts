import type { Raw } from "./model.ts";

/** Writes a payload: values in sequence, lowest bit first. */
export class BitWriter {
  #bytes = new Uint8Array(64);
  #bit = 0;

  /** Bits written so far. */
  get bit(): number {
    return this.#bit;
  }

  /** Writes the lowest `bits` bits of a number, negative ones in two's complement. */
  raw(raw: Raw, bits: number): void {
    if (typeof raw === "number") return this.#part(raw < 0 ? raw + 2 ** bits : raw, bits);
    let rest = BigInt.asUintN(bits, raw);
    for (let left = bits; left > 0; left -= 32) {
      this.#part(Number(rest & 0xffff_ffffn), Math.min(32, left));
      rest >>= 32n;
    }
  }

  /** Writes bytes, at any bit offset. */
  bytes(bytes: Uint8Array): void {
    for (const byte of bytes) this.#part(byte, 8);
  }

  /** Writes the same bit repeatedly: ones for reserved or unavailable fields. */
  fill(bits: number, value: 0 | 1 = 1): void {
    for (let left = bits; left > 0; left -= 8) this.#part(value === 1 ? 0xff : 0, Math.min(8, left));
  }

  /** Completes a partial byte. */
  align(value: 0 | 1 = 1): void {
    this.fill(-this.#bit & 7, value);
  }

  /** The bytes written so far; a partial byte is padded with ones. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.slice(0, (this.#bit + 7) >>> 3);
    const begun = this.#bit & 7;
    const last = bytes.length - 1;
    if (begun > 0) bytes[last] = (bytes[last] ?? 0) | (0xff << begun);
    return bytes;
  }

  #part(value: number, bits: number): void {
    if (this.#bit + bits > this.#bytes.length * 8) this.#grow();
    while (bits > 0) {
      const skipped = this.#bit & 7;
      const taken = Math.min(bits, 8 - skipped);
      const at = this.#bit >>> 3;
      this.#bytes[at] = (this.#bytes[at] ?? 0) | ((value % 2 ** taken) << skipped);
      value = Math.floor(value / 2 ** taken);
      this.#bit += taken;
      bits -= taken;
    }
  }

  #grow(): void {
    const bytes = new Uint8Array(this.#bytes.length * 2);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }
}
