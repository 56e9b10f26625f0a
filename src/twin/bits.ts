/** How one number lies in a payload: its width, its sign and what one raw step is worth. */
export interface Field {
  readonly bits: number;
  readonly signed: boolean;
  /** Value of one raw step, in the field's unit. */
  readonly resolution: number;
  /** Lowest and highest raw values that mean a number. */
  readonly minRaw: number;
  readonly maxRaw: number;
  /** Raw value that means "not available". */
  readonly unavailableRaw: number;
}

/** Top codes that mean no number: "unavailable", "out of range" and "reserved", as far as the width has room for them. */
function sentinelCodes(bits: number): number {
  if (bits >= 8) return 3;
  if (bits >= 4) return 2;
  return bits >= 2 ? 1 : 0;
}

/** An unsigned field; all ones is "not available", except for a single bit. */
export function unsignedField(bits: number, resolution = 1): Field {
  const allOnes = 2 ** bits - 1;
  return {
    bits,
    signed: false,
    resolution,
    minRaw: 0,
    maxRaw: allOnes - sentinelCodes(bits),
    unavailableRaw: allOnes,
  };
}

/** A two's complement field; the highest positive value is "not available". */
export function signedField(bits: number, resolution = 1): Field {
  const highest = 2 ** (bits - 1) - 1;
  return {
    bits,
    signed: true,
    resolution,
    minRaw: -highest - 1,
    maxRaw: highest - sentinelCodes(bits),
    unavailableRaw: highest,
  };
}

const WIDE_BYTES = 8;
const MAX_WIDE = 2n ** 63n - 1n;

/** Encoding byte of a STRING_LAU that holds single bytes per character. */
const LAU_ASCII = 1;
/** Bytes before the characters of a STRING_LAU: its whole length and its encoding. */
const LAU_HEADER_BYTES = 2;

/** Bytes that `text` takes as a STRING_LAU. */
export function lauBytes(text: string): number {
  return LAU_HEADER_BYTES + text.length;
}

/**
 * Writes the fields of one payload one after the other, each little-endian and starting at the lowest free bit. What is
 * not written stays all ones.
 *
 * A number that does not fit becomes the nearest one that does; `undefined` and NaN become "not available".
 */
export class PayloadWriter {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #bit = 0;

  /** @param length bytes of the whole payload */
  constructor(length: number) {
    this.#bytes = new Uint8Array(length).fill(0xff);
  }

  /** Adds a number in the unit of `field`. */
  put(field: Field, value: number | undefined): this {
    let raw = field.unavailableRaw;
    if (value !== undefined && !Number.isNaN(value)) {
      raw = Math.min(field.maxRaw, Math.max(field.minRaw, Math.round(value / field.resolution)));
    }
    this.#write(raw < 0 ? raw + 2 ** field.bits : raw, field.bits);
    return this;
  }

  /** Leaves bits that the definition reserves, as ones. */
  reserve(bits: number): this {
    this.#claim(bits);
    return this;
  }

  /** Adds bits as they are: flags, and what came over radio. None of their values means "not available". */
  putBits(raw: number, bits: number): this {
    this.#write(raw, bits);
    return this;
  }

  /**
   * Adds a signed 64-bit number, for values whose steps are finer than a double's integers reach.
   *
   * @param value in the field's unit; split into raw steps as `value * coarsePerUnit * finePerCoarse`
   */
  putWide(value: number | undefined, steps: { coarsePerUnit: number; finePerCoarse: bigint }): this {
    const at = this.#claim(WIDE_BYTES * 8) / 8;
    const known = value !== undefined && Number.isFinite(value);
    const raw = known ? BigInt(Math.round(value * steps.coarsePerUnit)) * steps.finePerCoarse : MAX_WIDE;
    new DataView(this.#bytes.buffer).setBigInt64(at, raw, true);
    return this;
  }

  /** Adds a NAME or another unsigned 64-bit number as it is. */
  putRaw64(value: bigint): this {
    const at = this.#claim(WIDE_BYTES * 8) / 8;
    new DataView(this.#bytes.buffer).setBigUint64(at, value, true);
    return this;
  }

  /** Adds single-byte characters in a place of fixed length; what is too long is cut. */
  putText(text: string, { length, pad = 0xff }: { length: number; pad?: number }): this {
    const at = this.#claim(length * 8) / 8;
    this.#bytes.fill(pad, at, at + length);
    for (let i = 0; i < Math.min(length, text.length); i++) this.#bytes[at + i] = text.charCodeAt(i) & 0xff;
    return this;
  }

  /** Adds a STRING_LAU of single-byte characters; see {@linkcode lauBytes} for its size. */
  putLau(text: string): this {
    this.#write(lauBytes(text), 8);
    this.#write(LAU_ASCII, 8);
    return this.putText(text, { length: text.length });
  }

  /**
   * The payload.
   *
   * @throws {RangeError} the fields did not fill it exactly
   */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.#bit !== this.#bytes.length * 8) {
      throw new RangeError(`Cannot finish a payload of ${this.#bytes.length} bytes: its fields have ${this.#bit} bits`);
    }
    return this.#bytes;
  }

  /** Takes the next `bits` and returns where they start. */
  #claim(bits: number): number {
    const at = this.#bit;
    if (at + bits > this.#bytes.length * 8) {
      throw new RangeError(`Cannot add ${bits} bits at bit ${at} of a payload of ${this.#bytes.length} bytes`);
    }
    this.#bit = at + bits;
    return at;
  }

  #write(raw: number, bits: number): void {
    const bytes = this.#bytes;
    let bit = this.#claim(bits);
    let rest = raw;
    for (let left = bits; left > 0;) {
      const shift = bit & 7;
      const take = Math.min(8 - shift, left);
      const mask = (1 << take) - 1;
      const at = bit >>> 3;
      bytes[at] = ((bytes[at] ?? 0) & ~(mask << shift)) | ((rest & mask) << shift);
      // Not a shift: fields of more than 32 bits exist.
      rest = Math.floor(rest / (1 << take));
      bit += take;
      left -= take;
    }
  }
}
