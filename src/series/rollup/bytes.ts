/** Writes numbers into bytes. */
export class ByteWriter {
  #bytes = new Uint8Array(4096);
  #at = 0;

  /** Bytes so far. */
  get length(): number {
    return this.#at;
  }

  /** Writes a whole number from 0 to 2^53 in groups of 7 bits. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = rest % 0x80 | 0x80;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  /** Writes a whole number of either sign, up to 2^52. */
  signed(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** Writes a number in 64 bits. */
  float(value: number): void {
    this.#reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Writes bytes. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** A copy of what was written. */
  take(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#at);
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const longer = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    longer.set(this.#bytes);
    this.#bytes = longer;
  }
}

/** Reads what a {@linkcode ByteWriter} wrote. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** @throws {RangeError} the bytes have ended */
  varint(): number {
    let value = 0;
    for (let unit = 1;; unit *= 0x80) {
      const byte = this.#view.getUint8(this.#at++);
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  }

  /** @throws {RangeError} the bytes have ended */
  signed(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** @throws {RangeError} the bytes have ended */
  float(): number {
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }

  /** The next bytes, without a copy. @throws {RangeError} the bytes have ended */
  bytes(count: number): Uint8Array {
    if (!(this.#at + count <= this.#bytes.length)) throw new RangeError("The bytes have ended");
    return this.#bytes.subarray(this.#at, this.#at += count);
  }
}
