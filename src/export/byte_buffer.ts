const HEX_PAIRS = new Uint16Array(256);
const HEX_UPPER_PAIRS = new Uint16Array(256);
for (let value = 0; value < 256; value++) {
  const pair = (digits: string) => digits.charCodeAt(value >> 4) | (digits.charCodeAt(value & 15) << 8);
  HEX_PAIRS[value] = pair("0123456789abcdef");
  HEX_UPPER_PAIRS[value] = pair("0123456789ABCDEF");
}

const ZERO = 48;
/** Decimal digits of a number, at most: those of 2^53. */
export const MAX_DIGITS = 16;
/** Most bytes of UTF-8 for one UTF-16 unit. */
const MAX_UTF8_BYTES = 3;

const encoder = new TextEncoder();

/**
 * Collects bytes in one of two buffers in turn, so that one can be written out while the other fills. Buffers grow as needed
 * and are kept.
 */
export class ByteBuffer {
  /** Bytes collected. */
  length = 0;
  #bytes: Uint8Array<ArrayBuffer>;
  #other: Uint8Array<ArrayBuffer>;
  readonly #digits = new Uint8Array(MAX_DIGITS);

  constructor(firstBytes = 4096) {
    this.#bytes = new Uint8Array(firstBytes);
    this.#other = new Uint8Array(firstBytes);
  }

  /** The collected bytes, valid until the next call but one. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.length);
    [this.#bytes, this.#other] = [this.#other, this.#bytes];
    this.length = 0;
    return taken;
  }

  /** Makes room: the other methods, except `text`, need that the caller has done so. */
  reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, needed));
    grown.set(this.#bytes.subarray(0, this.length));
    this.#bytes = grown;
  }

  byte(value: number): void {
    this.#bytes[this.length++] = value;
  }

  copy(bytes: Uint8Array): void {
    const target = this.#bytes;
    let at = this.length;
    for (let i = 0; i < bytes.length; i++) target[at++] = bytes[i] ?? 0;
    this.length = at;
  }

  /** Adds lower-case hex of a part of `data`: two bytes each. */
  hex(data: Uint8Array, start: number, end: number): void {
    this.#pairs(HEX_PAIRS, data, { start, end });
  }

  /** Adds upper-case hex of a part of `data`: two bytes each. */
  hexUpper(data: Uint8Array, start: number, end: number): void {
    this.#pairs(HEX_UPPER_PAIRS, data, { start, end });
  }

  /** Adds 32 bits as eight upper-case hex digits. */
  hexWord(value: number): void {
    const target = this.#bytes;
    for (let shift = 24; shift >= 0; shift -= 8) {
      const pair = HEX_UPPER_PAIRS[(value >>> shift) & 0xff] ?? 0;
      target[this.length++] = pair & 0xff;
      target[this.length++] = pair >>> 8;
    }
  }

  #pairs(pairs: Uint16Array, data: Uint8Array, { start, end }: { start: number; end: number }): void {
    const target = this.#bytes;
    let at = this.length;
    for (let i = start; i < end; i++) {
      const pair = pairs[data[i] ?? 0] ?? 0;
      target[at++] = pair & 0xff;
      target[at++] = pair >>> 8;
    }
    this.length = at;
  }

  /** Adds a whole number from 0 to 2^53, at most 16 bytes. */
  decimal(value: number): void {
    const digits = this.#digits;
    let count = 0;
    let rest = value;
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 10)) digits[count++] = rest % 10;
    let small = rest | 0;
    do {
      const next = (small / 10) | 0;
      digits[count++] = small - next * 10;
      small = next;
    } while (small > 0);
    while (count > 0) this.#bytes[this.length++] = ZERO + (digits[--count] ?? 0);
  }

  /** Adds a whole number with leading zeros. */
  padded(value: number, digits: number): void {
    let rest = value;
    for (let at = this.length + digits - 1; at >= this.length; at--) {
      const next = (rest / 10) | 0;
      this.#bytes[at] = ZERO + rest - next * 10;
      rest = next;
    }
    this.length += digits;
  }

  /** Adds a text as UTF-8. Makes room itself. */
  text(text: string): void {
    this.reserve(text.length * MAX_UTF8_BYTES);
    const target = this.#bytes;
    let at = this.length;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        this.length += encoder.encodeInto(text, target.subarray(this.length)).written;
        return;
      }
      target[at++] = unit;
    }
    this.length = at;
  }

  /** Adds 32 bits, lowest byte first. */
  uint32(value: number): void {
    const target = this.#bytes;
    target[this.length++] = value & 0xff;
    target[this.length++] = (value >>> 8) & 0xff;
    target[this.length++] = (value >>> 16) & 0xff;
    target[this.length++] = value >>> 24;
  }
}
