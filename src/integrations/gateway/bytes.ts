import type { Chunk } from "../lines.ts";

const DIGITS = new TextEncoder().encode("0123456789ABCDEF");
const FIRST_BYTES = 4096;

/** Collects encoded lines or records. The buffer grows and is reused. */
export class LineBuffer {
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;
  #lineStart = 0;
  #lengths: number[] = [];

  /** Bytes collected. */
  get length(): number {
    return this.#length;
  }

  /** Adds a byte. */
  byte(value: number): void {
    if (this.#length === this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#bytes.length);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes[this.#length++] = value;
  }

  /** Adds ASCII text. */
  text(text: string): void {
    for (let i = 0; i < text.length; i++) this.byte(text.charCodeAt(i));
  }

  /** Adds a number with this many upper-case hex digits. */
  hex(value: number, digits: number): void {
    for (let shift = 4 * (digits - 1); shift >= 0; shift -= 4) this.byte(DIGITS[(value >>> shift) & 15] ?? 0);
  }

  /** Adds a number with this many decimal digits, up to three. */
  decimal(value: number, digits: number): void {
    if (digits > 2) this.byte(48 + Math.floor(value / 100) % 10);
    this.byte(48 + Math.floor(value / 10) % 10);
    this.byte(48 + value % 10);
  }

  /** Ends a line or record. */
  endLine(): void {
    this.#lengths.push(this.#length - this.#lineStart);
    this.#lineStart = this.#length;
  }

  /** Returns the complete lines and clears the buffer. */
  take(): Chunk {
    const chunk = { bytes: this.#bytes.slice(0, this.#length), lengths: this.#lengths };
    this.#length = this.#lineStart = 0;
    this.#lengths = [];
    return chunk;
  }
}
